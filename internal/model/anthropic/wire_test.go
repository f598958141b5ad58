package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/anthropic"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

func TestWire(t *testing.T) {
	t.Parallel()
	modeltest.RunWire(t, modeltest.Wire{
		Provider: "anthropic",
		Open:     func(t *testing.T, base string) model.Model { return open(t, base, modeltest.ModelID) },
		Read:     read,
		Answer:   answer,
		Refuse:   refuse,
		Event:    event,
		Alive:    frame("ping", map[string]any{"type": "ping"}),
		Unknown:  frame("content_block_hint", map[string]any{"type": "content_block_hint", "index": 0}),
	})
}

// open gives a model that talks to base.
func open(t *testing.T, base, id string) model.Model {
	t.Helper()
	p := anthropic.New(env(map[string]string{"ANTHROPIC_API_KEY": modeltest.Key, "ANTHROPIC_BASE_URL": base}))
	m, err := p.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// frame is one event of the stream.
func frame(name string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, text)
}

// stopReasons are the API's words.
var stopReasons = map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}

// writer collects the frames of an answer.
type writer struct {
	frames []modeltest.Frame
	index  int
}

func (w *writer) add(kind modeltest.FrameKind, name string, data map[string]any) {
	data["type"] = name
	w.frames = append(w.frames, modeltest.Frame{Kind: kind, Bytes: frame(name, data)})
}

func (w *writer) start(block map[string]any) {
	w.add(modeltest.Other, "content_block_start", map[string]any{"index": w.index, "content_block": block})
}

func (w *writer) delta(kind modeltest.FrameKind, index int, delta map[string]any) {
	w.add(kind, "content_block_delta", map[string]any{"index": index, "delta": delta})
}

func (w *writer) stop(index int) {
	w.add(modeltest.Other, "content_block_stop", map[string]any{"index": index})
}

// answer writes an answer as the API streams it.
func answer(a modeltest.Answer) []modeltest.Frame {
	w := &writer{}
	started := map[string]any{"id": "msg_01", "type": "message", "role": "assistant", "model": modeltest.ModelID, "content": []any{}, "stop_reason": nil, "stop_sequence": nil}
	ended := map[string]any{"delta": map[string]any{"stop_reason": stopWord(a.Finish), "stop_sequence": nil}}
	if u := a.Usage; u != nil {
		const created = 5
		started["usage"] = map[string]any{
			"input_tokens": u.GetInputTokens() - u.GetCachedInputTokens() - created, "cache_creation_input_tokens": created,
			"cache_read_input_tokens": u.GetCachedInputTokens(), "output_tokens": 1,
		}
		ended["usage"] = map[string]any{
			"output_tokens": u.GetOutputTokens(), "output_tokens_details": map[string]any{"thinking_tokens": u.GetReasoningTokens()},
		}
	}
	w.add(modeltest.Prelude, "message_start", map[string]any{"message": started})
	w.add(modeltest.Prelude, "ping", map[string]any{})
	w.thought(a.Reasoning)
	w.text(a.Text)
	w.calls(a.Calls)
	w.add(modeltest.Other, "message_delta", ended)
	w.add(modeltest.End, "message_stop", map[string]any{})
	return w.frames
}

func stopWord(finish string) any {
	if finish == "" {
		return nil
	}
	if word, ok := stopReasons[finish]; ok {
		return word
	}
	return finish
}

// thought is a signed thought, and one that cannot be read.
func (w *writer) thought(s string) {
	if s == "" {
		return
	}
	w.start(map[string]any{"type": "thinking", "thinking": "", "signature": ""})
	for _, piece := range halves(s) {
		w.delta(modeltest.Other, w.index, map[string]any{"type": "thinking_delta", "thinking": piece})
	}
	w.delta(modeltest.Other, w.index, map[string]any{"type": "signature_delta", "signature": "c2lnbmVk+/=="})
	w.stop(w.index)
	w.index++
	w.start(map[string]any{"type": "redacted_thinking", "data": "b3BhcXVl"})
	w.stop(w.index)
	w.index++
}

func (w *writer) text(pieces []string) {
	if len(pieces) == 0 {
		return
	}
	w.start(map[string]any{"type": "text", "text": ""})
	for _, piece := range pieces {
		w.delta(modeltest.Text, w.index, map[string]any{"type": "text_delta", "text": piece})
	}
	w.stop(w.index)
	w.index++
}

// calls writes arguments in fragments, those of all calls in turns.
func (w *writer) calls(calls []modeltest.Call) {
	first := w.index
	for _, c := range calls {
		w.start(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}})
		w.index++
	}
	for half := range 2 {
		for i, c := range calls {
			if c.Args != "{}" { // without arguments there is no fragment
				w.delta(modeltest.Other, first+i, map[string]any{"type": "input_json_delta", "partial_json": halves(c.Args)[half]})
			}
		}
	}
	for i := range calls {
		w.stop(first + i)
	}
}

// halves cuts between characters.
func halves(s string) []string {
	runes := []rune(s)
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}

// types are the API's names of errors by status.
var types = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
	408: "timeout_error", 409: "invalid_request_error", 413: "request_too_large", 422: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 502: "api_error", 503: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

// reasons are what errors say that have no type of their own, or one that says more
// than the status.
var reasons = map[modeltest.Why]struct{ kind, message string }{
	modeltest.Exhausted:  {"billing_error", "Your credit balance is too low to access the API."},
	modeltest.Unsafe:     {"", "Output blocked by content filtering policy"},
	modeltest.TooLong:    {"", "prompt is too long: 210042 tokens > 200000 maximum"},
	modeltest.Busy:       {"overloaded_error", "Overloaded"},
	modeltest.TooFast:    {"rate_limit_error", "This request would exceed the rate limit of 50 requests per minute."},
	modeltest.ServerFail: {"api_error", "Internal server error"},
	modeltest.BadInput:   {"invalid_request_error", "messages: at least one message is required"},
}

func refuse(status int, why modeltest.Why) modeltest.Refusal {
	kind, message := types[status], "the API says what is wrong"
	if r, ok := reasons[why]; ok {
		if message = r.message; r.kind != "" {
			kind = r.kind
		}
	}
	body := fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_01"}`, kind, message)
	return modeltest.Refusal{Body: body, Type: kind}
}

func event(why modeltest.Why) (modeltest.Frame, modeltest.Refusal) {
	said := refuse(400, why)
	return modeltest.Frame{Kind: modeltest.Other, Bytes: []byte("event: error\ndata: " + strings.TrimSpace(said.Body) + "\n\n")}, said
}
