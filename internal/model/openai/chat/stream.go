package chat

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/packages/ssestream"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/openai/sdk"
)

// finishWords are the hosts' words for the neutral ones; others pass through.
var finishWords = map[string]string{"function_call": "tool_calls", "model_length": "length", "max_tokens": "length", "end_turn": "stop",
	"eos": "stop", "eos_token": "stop", "stop_sequence": "stop", "end": "stop", "complete": "stop", "completed": "stop"}

// events are the chunks of a response. The SDK's own stream takes a null as error.
type events struct {
	decoder ssestream.Decoder
	now     chunk
	err     error
}

// Next reads a chunk; the mark that ends a stream is one as well.
func (e *events) Next() bool {
	if e.err != nil || !e.decoder.Next() {
		return false
	}
	e.now = chunk{}
	data := e.decoder.Event().Data
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		e.now.done = true
		return true
	}
	e.err = json.Unmarshal(data, &e.now)
	return e.err == nil
}

// Current is the chunk that Next read.
func (e *events) Current() chunk { return e.now }

// Err is what broke the stream.
func (e *events) Err() error {
	if e.err != nil {
		return e.err
	}
	return e.decoder.Err()
}

// Close frees the response.
func (e *events) Close() error { return e.decoder.Close() }

// reader turns the chunks of one answer into parts. Calls leave at the end, whole.
type reader struct {
	host    host
	give    func(model.Part) bool
	id      string
	calls   []*building
	refusal string
	thought bool              // a thought was given
	details []json.RawMessage // what the host wants back of it
	finish  string            // "" until the host gave its finish reason
	usage   *messagev1.Usage
}

// building is a call whose arguments come in fragments.
type building struct {
	index int64 // -1 when the host gives none
	call  *messagev1.ToolCall
}

// event reads one chunk.
func (r *reader) event(c chunk) (sdk.Progress, error) {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return sdk.Going, model.FromEvent(fmt.Appendf(nil, `{"error":%s}`, c.Error))
	}
	if c.ID != "" {
		r.id = c.ID
	}
	if c.Usage != nil {
		r.usage = c.Usage.neutral()
	}
	for _, one := range c.Choices {
		if one.Index != 0 {
			continue // nobody asked for a second answer
		}
		if r.finish != "" && one.Delta.any() {
			return sdk.Whole, &model.Error{Category: model.Malformed, Message: "content after the end of the answer"}
		}
		r.delta(one.Delta)
		if one.FinishReason != "" && r.finish == "" {
			r.finish = one.FinishReason
		}
	}
	switch {
	case r.finish == "" && c.done:
		return sdk.Going, &model.Error{Category: model.Malformed, Message: "the stream ended without a finish reason"}
	case r.finish == "":
		return sdk.Going, nil
	case r.usage == nil && !c.done:
		return sdk.Whole, nil
	}
	return sdk.Ended, nil
}

// any tells whether a delta holds a piece of an answer.
func (d delta) any() bool {
	return d.text() != "" || d.Refusal != "" || len(d.ToolCalls) > 0 || d.thought() != ""
}

func (r *reader) delta(d delta) {
	if t := d.thought(); t != "" {
		r.thought = true
		r.give(model.Part{Reasoning: &messagev1.Reasoning{Text: t}})
	}
	if r.host.quirks.echoDetails {
		var some []json.RawMessage
		_ = json.Unmarshal(d.ReasoningDetails, &some) // none, or a shape that nobody knows
		r.details = append(r.details, some...)
	}
	if t := d.text(); t != "" {
		r.give(model.Part{Text: t})
	}
	r.refusal += d.Refusal
	for _, piece := range d.ToolCalls {
		r.fragment(piece)
	}
}

// fragment adds a piece to its call. Hosts that give no index, or always the same
// one, begin a call by its id.
func (r *reader) fragment(piece fragment) {
	index := int64(-1)
	if piece.Index != nil {
		index = max(*piece.Index, -1)
	}
	var b *building
	for _, one := range r.calls {
		same := one.index == index && (piece.ID == "" || one.call.Id == "" || one.call.Id == piece.ID)
		if index < 0 {
			same = piece.ID == "" || one.call.Id == piece.ID
		}
		if same {
			b = one // the last that fits
		}
	}
	if b == nil {
		b = &building{index: index, call: &messagev1.ToolCall{}}
		r.calls = append(r.calls, b)
	}
	if b.call.Id == "" {
		b.call.Id = piece.ID
	}
	if b.call.Name == "" {
		b.call.Name = piece.Function.Name
	}
	b.call.Arguments += piece.Function.Arguments
}

// end gives what leaves at the end of a stream that did not break.
func (r *reader) end() error {
	switch {
	case r.finish == "":
		return nil // model.Stream says that the terminal event is missing
	case r.finish == "content_filter":
		return &model.Error{Category: model.Refused, Code: r.finish, Message: "the provider's filter ended the answer", Usage: r.usage}
	case r.refusal != "":
		return &model.Error{Category: model.Refused, Code: "refusal", Message: model.Bounded(r.refusal), Usage: r.usage}
	case r.finish == "error":
		return &model.Error{Category: model.ServerError, Code: r.finish, Message: "the host ended the answer with an error and says not which"}
	}
	r.seal()
	for _, b := range r.calls {
		if b.call.Arguments == "" {
			b.call.Arguments = "{}"
		}
		if r.finish != "length" || json.Valid([]byte(b.call.Arguments)) { // else it was cut
			r.give(model.Part{ToolCall: b.call})
		}
	}
	r.give(model.Part{Done: &model.Done{FinishReason: r.reason(), ResponseID: r.id, Usage: r.usage}})
	return nil
}

// seal keeps what the host wants back.
func (r *reader) seal() {
	if !(r.host.quirks.echoThoughts && r.thought) && len(r.details) == 0 {
		return
	}
	if data, err := json.Marshal(seal{Host: r.host.name, Details: r.details}); err == nil {
		r.give(model.Part{Reasoning: &messagev1.Reasoning{Private: data}})
	}
}

// reason is why the answer ended. Some hosts say stop although they call tools.
func (r *reader) reason() string {
	if len(r.calls) > 0 && r.finish == "stop" {
		return "tool_calls"
	}
	if word, ok := finishWords[r.finish]; ok {
		return word
	}
	return r.finish
}

// neutral gives the figures in neutral form.
func (f figures) neutral() *messagev1.Usage {
	return &messagev1.Usage{
		InputTokens: f.PromptTokens, CachedInputTokens: max(f.PromptTokensDetails.CachedTokens, f.PromptCacheHits),
		OutputTokens: f.CompletionTokens, ReasoningTokens: f.CompletionTokensDetails.ReasoningTokens,
	}
}
