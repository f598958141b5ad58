package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

func TestWire(t *testing.T) {
	t.Parallel()
	modeltest.RunWire(t, modeltest.Wire{
		Provider: provider,
		Open:     open,
		Read:     read,
		Answer:   answer,
		Refuse:   refuse,
		Event:    event,
		Alive:    []byte("event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n"),
		Unknown:  []byte("event: response.zzz.new\ndata: {\"type\":\"response.zzz.new\",\"sequence_number\":9,\"delta\":{\"deep\":[1]},\"item\":7}\n\n"),
	})
}

func open(t *testing.T, base string) model.Model {
	t.Helper()
	m, err := New(variables{keyVariable: modeltest.Key, baseVariable: base + "/v1"}.get).Open(t.Context(), modeltest.ModelID)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// variables are an environment.
type variables map[string]string

func (v variables) get(name string) string { return v[name] }

// object is JSON.
type object = map[string]any

// writer writes the events of one response.
type writer struct {
	frames []modeltest.Frame
	number int
	output []object
	next   int
}

func (w *writer) send(kind modeltest.FrameKind, name string, fields object) {
	all := object{"type": name, "sequence_number": w.number}
	maps.Copy(all, fields)
	w.number++
	w.frames = append(w.frames, modeltest.Frame{Kind: kind, Bytes: frame(name, all)})
}

func frame(name string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data)
}

// answer writes an answer as the Responses API does.
func answer(a modeltest.Answer) []modeltest.Frame {
	w := &writer{}
	w.send(modeltest.Prelude, "response.created", object{"response": response("in_progress", nil, nil)})
	w.send(modeltest.Prelude, "response.in_progress", object{"response": response("in_progress", nil, nil)})
	if a.Reasoning != "" {
		w.reasoning(a.Reasoning)
	}
	if len(a.Text) > 0 {
		w.text(a.Text, len(a.Calls) > 0)
	}
	w.calls(a.Calls)
	w.end(a)
	return w.frames
}

// reasoning writes a thought in two pieces, with its sealed form.
func (w *writer) reasoning(thought string) {
	at := w.next
	w.next++
	id := fmt.Sprintf("rs_%d", at)
	w.send(modeltest.Other, "response.output_item.added", object{"output_index": at, "item": object{"id": id, "type": "reasoning", "summary": []any{}, "encrypted_content": "partial"}})
	w.send(modeltest.Other, "response.reasoning_summary_part.added", object{"item_id": id, "output_index": at, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
	for _, piece := range halves(thought) {
		w.send(modeltest.Other, "response.reasoning_summary_text.delta", object{"item_id": id, "output_index": at, "summary_index": 0, "delta": piece})
	}
	w.send(modeltest.Other, "response.reasoning_summary_text.done", object{"item_id": id, "output_index": at, "summary_index": 0, "text": thought})
	part := object{"type": "summary_text", "text": thought}
	w.send(modeltest.Other, "response.reasoning_summary_part.done", object{"item_id": id, "output_index": at, "summary_index": 0, "part": part})
	w.done(at, object{"id": id, "type": "reasoning", "summary": []any{part}, "encrypted_content": "gAAA+/=" + thought[:3], "status": nil})
}

func halves(s string) []string {
	runes := []rune(s)
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}

func (w *writer) done(at int, item object) {
	w.output = append(w.output, item)
	w.send(modeltest.Other, "response.output_item.done", object{"output_index": at, "item": item})
}

func (w *writer) text(pieces []string, callsFollow bool) {
	at := w.next
	w.next++
	id, phase := fmt.Sprintf("msg_%d", at), "final_answer"
	if callsFollow {
		phase = "commentary"
	}
	item := func(status string, content ...any) object {
		return object{"id": id, "type": "message", "status": status, "role": "assistant", "phase": phase, "content": content}
	}
	part := func(text string) object {
		return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
	}
	place := func(more object) object {
		maps.Copy(more, object{"item_id": id, "output_index": at, "content_index": 0})
		return more
	}
	whole := strings.Join(pieces, "")
	w.send(modeltest.Other, "response.output_item.added", object{"output_index": at, "item": item("in_progress")})
	w.send(modeltest.Other, "response.content_part.added", place(object{"part": part("")}))
	for _, piece := range pieces {
		w.send(modeltest.Text, "response.output_text.delta", place(object{"delta": piece, "logprobs": []any{}, "obfuscation": "x1"}))
	}
	w.send(modeltest.Other, "response.output_text.done", place(object{"text": whole, "logprobs": []any{}}))
	w.send(modeltest.Other, "response.content_part.done", place(object{"part": part(whole)}))
	w.done(at, item("completed", part(whole)))
}

// calls writes the arguments of all calls in turns, and finishes the last first.
func (w *writer) calls(calls []modeltest.Call) {
	first := w.next
	w.next += len(calls)
	item := func(i int, status, args string) object {
		return object{"id": fmt.Sprintf("fc_%d", i), "type": "function_call", "status": status, "call_id": calls[i].ID, "name": calls[i].Name, "arguments": args}
	}
	longest := 0
	for i, c := range calls {
		longest = max(longest, len(c.Args))
		w.send(modeltest.Other, "response.output_item.added", object{"output_index": first + i, "item": item(i, "in_progress", "")})
	}
	const fragment = 5
	for from := 0; from < longest; from += fragment {
		for i, c := range calls {
			if args := []rune(c.Args); from < len(args) {
				w.send(modeltest.Other, "response.function_call_arguments.delta", object{
					"item_id": fmt.Sprintf("fc_%d", i), "output_index": first + i, "delta": string(args[from:min(from+fragment, len(args))]),
				})
			}
		}
	}
	for i, c := range slices.Backward(calls) {
		w.send(modeltest.Other, "response.function_call_arguments.done", object{"item_id": fmt.Sprintf("fc_%d", i), "output_index": first + i, "name": c.Name, "arguments": c.Args})
		w.done(first+i, item(i, "completed", c.Args))
	}
}

func (w *writer) end(a modeltest.Answer) {
	var usage any
	if u := a.Usage; u != nil {
		usage = object{
			"input_tokens": u.GetInputTokens(), "input_tokens_details": object{"cached_tokens": u.GetCachedInputTokens()},
			"output_tokens": u.GetOutputTokens(), "output_tokens_details": object{"reasoning_tokens": u.GetReasoningTokens()},
			"total_tokens": u.GetInputTokens() + u.GetOutputTokens(),
		}
	}
	if a.Finish == "stop" || a.Finish == "tool_calls" {
		w.send(modeltest.End, "response.completed", object{"response": response("completed", w.output, object{"usage": usage})})
		return
	}
	reason := a.Finish
	if reason == "length" {
		reason = "max_output_tokens"
	}
	w.send(modeltest.End, "response.incomplete", object{"response": response("incomplete", w.output, object{
		"usage": usage, "incomplete_details": object{"reason": reason},
	})})
}

// response is the object that stands in events about the whole.
func response(status string, output []object, more object) object {
	if output == nil {
		output = []object{}
	}
	all := object{
		"id": "resp_1", "object": "response", "created_at": 1790000000, "status": status, "error": nil, "incomplete_details": nil,
		"instructions": nil, "model": modeltest.ModelID, "output": output, "parallel_tool_calls": true, "store": false,
		"tool_choice": "auto", "tools": []any{}, "usage": nil, "metadata": object{},
	}
	maps.Copy(all, more)
	return all
}

// refuse writes the body of a response that is an error.
func refuse(status int, why modeltest.Why) modeltest.Refusal {
	message, kind, code := "Something is wrong with the request.", "invalid_request_error", any(nil)
	switch {
	case why == modeltest.Exhausted:
		message, kind, code = "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"
	case why == modeltest.Unsafe:
		message, code = "This request is not allowed by the safety rules; its context length does not matter.", "content_policy_violation"
	case why == modeltest.TooLong:
		message, code = "Your input exceeds the context window of this model.", "context_length_exceeded"
	case status == 401:
		message, code = "Incorrect API key provided: key-****.", "invalid_api_key"
	case status == 404:
		message, code = "The model does not exist.", "model_not_found"
	case status == 429:
		message, kind, code = "Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 1.", "requests", "rate_limit_exceeded"
	case status >= 500:
		message, kind = "The server had an error while processing your request.", "server_error"
	}
	data, err := json.Marshal(object{"error": object{"message": message, "type": kind, "param": nil, "code": code}})
	if err != nil {
		panic(err)
	}
	text, _ := code.(string)
	return modeltest.Refusal{Body: string(data), Code: text, Type: kind}
}

// event writes an error inside the stream, in each of the wire's three ways.
func event(why modeltest.Why) (modeltest.Frame, modeltest.Refusal) {
	codes := map[modeltest.Why]string{
		modeltest.Exhausted: "insufficient_quota", modeltest.Unsafe: "bio_policy", modeltest.TooLong: "context_length_exceeded",
		modeltest.Busy: "server_is_overloaded", modeltest.TooFast: "rate_limit_exceeded", modeltest.ServerFail: "server_error", modeltest.BadInput: "invalid_image",
	}
	code, message, kind := codes[why], "These are the provider's words about it.", ""
	var f []byte
	switch why {
	case modeltest.Exhausted, modeltest.Busy:
		f = frame("error", object{"type": "error", "code": code, "message": message, "param": nil, "sequence_number": 4})
	case modeltest.BadInput:
		kind = "invalid_request_error"
		f = frame("error", object{"type": "error", "sequence_number": 4, "error": object{"type": kind, "code": code, "message": message, "param": "input"}})
	default:
		f = frame("response.failed", object{"type": "response.failed", "sequence_number": 4, "response": response("failed", nil, object{"error": object{"code": code, "message": message}})})
	}
	return modeltest.Frame{Kind: modeltest.End, Bytes: f}, modeltest.Refusal{Code: code, Type: kind}
}
