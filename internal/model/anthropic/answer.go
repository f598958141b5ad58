package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// answer is one answer on its way.
type answer struct {
	give  func(model.Part) bool
	open  map[int64]*block // by index
	held  []model.Part     // calls that may have been cut
	done  model.Done
	usage counts
	over  bool // message_stop came
}

// block is a part of the answer that is not whole yet.
type block struct {
	kind      string
	id, name  string
	whole     string // a call's arguments, where they come with the beginning
	text      strings.Builder
	signature string
	data      string
}

// errLeft ends the reading when nobody listens any more.
var errLeft = errors.New("nobody listens")

func malformed(what string) error {
	return &model.Error{Category: model.Malformed, Message: what}
}

// take reads one event. Types that it does not know say nothing. Behind the end only
// another end may come, and what has no content.
func (a *answer) take(e sdk.MessageStreamEventUnion) error {
	if a.over {
		if strings.HasPrefix(e.Type, "content_block") {
			return malformed("content came behind message_stop")
		}
		return nil
	}
	switch e.Type {
	case "message_start":
		a.done.ResponseID = e.Message.ID
		a.usage.start(e.Message.Usage)
	case "content_block_start":
		return a.begin(e)
	case "content_block_delta":
		return a.more(e)
	case "content_block_stop":
		return a.close(e.Index)
	case "message_delta":
		a.usage.delta(e.Usage)
		return a.stopped(e.Delta)
	case "message_stop":
		if len(a.open) > 0 {
			return malformed("message_stop came before the end of a block")
		}
		if a.done.FinishReason == "" {
			return malformed("message_stop came without a stop reason")
		}
		a.over = true
	}
	return nil
}

// begin opens a block. Some servers send the beginning of its content with it.
func (a *answer) begin(e sdk.MessageStreamEventUnion) error {
	if a.open[e.Index] != nil {
		return malformed("a block began twice")
	}
	c := e.ContentBlock
	b := &block{kind: c.Type, id: c.ID, name: c.Name, signature: c.Signature, data: c.Data}
	if c.Type == "tool_use" && c.JSON.Input.Valid() {
		b.whole = c.JSON.Input.Raw()
	}
	a.open[e.Index] = b
	return a.grow(b, c.Text+c.Thinking)
}

// more adds to a block.
func (a *answer) more(e sdk.MessageStreamEventUnion) error {
	b := a.open[e.Index]
	if b == nil {
		return malformed("a block goes on that did not begin")
	}
	switch d := e.Delta; d.Type {
	case "text_delta":
		return a.grow(b, d.Text)
	case "thinking_delta":
		return a.grow(b, d.Thinking)
	case "input_json_delta":
		b.text.WriteString(d.PartialJSON)
	case "signature_delta":
		b.signature += d.Signature
	}
	return nil
}

// grow shows readable text as it comes.
func (a *answer) grow(b *block, s string) error {
	if s == "" {
		return nil
	}
	switch b.kind {
	case "text":
		return a.say(model.Part{Text: s})
	case thinkingType:
		b.text.WriteString(s)
		return a.say(model.Part{Reasoning: &messagev1.Reasoning{Text: s}})
	}
	return nil
}

// close gives what only a whole block can say: a call, and sealed thought.
func (a *answer) close(index int64) error {
	b := a.open[index]
	if b == nil {
		return malformed("a block ended that did not begin")
	}
	delete(a.open, index)
	s := seal{Type: b.kind}
	switch b.kind {
	case "tool_use":
		return a.call(b)
	case thinkingType:
		text := b.text.String()
		s.Thinking, s.Signature = &text, b.signature
	case redactedType:
		s.Data = b.data
	}
	if private := s.sealed(); private != nil {
		return a.say(model.Part{Reasoning: &messagev1.Reasoning{Private: private}})
	}
	return nil
}

// call gives a call. One that may have been cut, since its arguments are no JSON or did
// not come at all, waits with those behind it for the reason why the model stopped.
func (a *answer) call(b *block) error {
	args := b.text.String()
	maybeCut := !json.Valid([]byte(args))
	if args == "" {
		args = b.whole
	}
	if args == "" {
		args = "{}"
	}
	p := model.Part{ToolCall: &messagev1.ToolCall{Id: b.id, Name: b.name, Arguments: args}}
	if maybeCut || len(a.held) > 0 {
		a.held = append(a.held, p)
		return nil
	}
	return a.say(p)
}

// release gives the calls that waited, unless the answer was cut in them.
func (a *answer) release(cut bool) error {
	held := a.held
	a.held = nil
	for _, p := range held {
		if cut {
			return nil
		}
		if err := a.say(p); err != nil {
			return err
		}
	}
	return nil
}

// say hands a part over.
func (a *answer) say(p model.Part) error {
	if !a.give(p) {
		return errLeft
	}
	return nil
}

// finishes are the neutral words of stop reasons; another one passes through.
var finishes = map[string]string{
	"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls",
	"max_tokens": "length",
}

// windowFull is the stop reason of an answer that the window was too short for. It is
// cut like one that is too long.
const windowFull = "model_context_window_exceeded"

// stopped takes the reason why the model stopped. A refusal is an error: what came
// before it is no answer.
func (a *answer) stopped(d sdk.MessageStreamEventUnionDelta) error {
	reason := string(d.StopReason)
	if reason == "refusal" {
		e := &model.Error{Category: model.Refused, Code: reason, Type: string(d.StopDetails.Category), Message: d.StopDetails.Explanation, Usage: a.usage.neutral()}
		if e.Message == "" {
			e.Message = "the model refused to go on"
		}
		return e
	}
	if neutral, ok := finishes[reason]; ok {
		reason = neutral
	}
	if reason == "" {
		return nil
	}
	a.done.FinishReason = reason
	return a.release(reason == "length" || reason == windowFull)
}

// end gives the end of the answer.
func (a *answer) end() error {
	a.done.Usage = a.usage.neutral()
	return a.say(model.Part{Done: &a.done})
}
