package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

// dialect is what the test knows of a host, beside hosts.go.
type dialect struct {
	keyVariable, baseVariable string
	developer                 string // role of a developer message
	maxField                  string
	usageOption               bool
	requestID                 bool
	nineLetters               bool
	jsonObject                bool
	thoughts                  string // field of readable thoughts
	back                      string // field in which thoughts go back
	calls                     string // indexed, whole, or bare: without an index
	usageInFinish             bool
	alwaysStop                bool // says stop although it calls tools
	bridge                    bool // wants an answer between a tool and a user
	numbers                   bool // codes of events are statuses
}

var dialects = map[string]dialect{
	"openai":     {keyVariable: "OPENAI_API_KEY", baseVariable: "OPENAI_BASE_URL", developer: "developer", maxField: "max_completion_tokens", usageOption: true, requestID: true, thoughts: "reasoning_content", calls: "indexed"},
	"ollama":     {baseVariable: "OLLAMA_HOST", developer: "system", maxField: "max_tokens", usageOption: true, thoughts: "reasoning", calls: "whole", alwaysStop: true},
	"vllm":       {keyVariable: "VLLM_API_KEY", baseVariable: "VLLM_BASE_URL", developer: "system", maxField: "max_tokens", usageOption: true, thoughts: "reasoning_content", calls: "indexed"},
	"lmstudio":   {keyVariable: "LMSTUDIO_API_KEY", baseVariable: "LMSTUDIO_BASE_URL", developer: "system", maxField: "max_tokens", usageOption: true, thoughts: "reasoning", calls: "bare"},
	"openrouter": {keyVariable: "OPENROUTER_API_KEY", baseVariable: "OPENROUTER_BASE_URL", developer: "system", maxField: "max_tokens", usageOption: true, thoughts: "reasoning", back: "reasoning_details", calls: "indexed", numbers: true},
	"groq":       {keyVariable: "GROQ_API_KEY", baseVariable: "GROQ_BASE_URL", developer: "system", maxField: "max_completion_tokens", usageOption: true, thoughts: "reasoning", calls: "indexed"},
	"mistral":    {keyVariable: "MISTRAL_API_KEY", baseVariable: "MISTRAL_BASE_URL", developer: "user", maxField: "max_tokens", nineLetters: true, thoughts: "reasoning", calls: "whole", usageInFinish: true, bridge: true},
	"deepseek":   {keyVariable: "DEEPSEEK_API_KEY", baseVariable: "DEEPSEEK_BASE_URL", developer: "system", maxField: "max_tokens", usageOption: true, jsonObject: true, thoughts: "reasoning_content", back: "reasoning_content", calls: "indexed"},
}

// TestWire runs the suite on every row of hosts.go.
func TestWire(t *testing.T) {
	t.Parallel()
	if len(dialects) != len(hosts) {
		t.Errorf("there are %d hosts and %d dialects", len(hosts), len(dialects))
	}
	for _, h := range hosts {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			d := dialects[h.name]
			skip := map[string]string{}
			if d.keyVariable == "" {
				for _, name := range []string{"EventWithKey", "EventWithKeyAfterText", "400WithEscapedKey"} {
					skip["Fault/"+name] = "the host has no key"
				}
			}
			modeltest.RunWire(t, modeltest.Wire{
				Skip:     skip,
				Provider: provider,
				Open:     func(t *testing.T, base string) model.Model { return d.open(t, h.name, base) },
				Read:     d.read,
				Answer:   d.answer,
				Refuse:   refuse,
				Event:    d.event,
				Unknown:  []byte("data: {\"id\":\"x\",\"object\":\"chat.zzz\",\"choices\":[],\"zzz\":{\"deep\":[1]}}\n\n"),
			})
		})
	}
}

func (d dialect) open(t *testing.T, name, base string) model.Model {
	t.Helper()
	if d.baseVariable != "OLLAMA_HOST" {
		base += "/v1"
	}
	v := variables{d.baseVariable: base}
	if d.keyVariable != "" {
		v[d.keyVariable] = modeltest.Key
	}
	m, err := New(v.get).Open(t.Context(), name+"/"+modeltest.ModelID)
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

// writer writes the chunks of one answer.
type writer struct {
	dialect
	frames []modeltest.Frame
}

func (w *writer) chunk(kind modeltest.FrameKind, fields object) {
	all := object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1790000000, "model": modeltest.ModelID, "system_fingerprint": nil}
	maps.Copy(all, fields)
	w.frames = append(w.frames, modeltest.Frame{Kind: kind, Bytes: frame(all)})
}

func (w *writer) delta(kind modeltest.FrameKind, delta object) {
	w.chunk(kind, object{"choices": []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": nil}}, "usage": nil})
}

func frame(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, "data: %s\n\n", data)
}

// answer writes an answer as the host does.
func (d dialect) answer(a modeltest.Answer) []modeltest.Frame {
	w := &writer{dialect: d}
	w.delta(modeltest.Prelude, object{"role": "assistant", "content": ""})
	if a.Reasoning != "" {
		runes := []rune(a.Reasoning)
		for i, piece := range []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])} {
			delta := object{"content": nil, d.thoughts: piece}
			if d.back == "reasoning_details" {
				delta[d.back] = []any{object{"type": "reasoning.encrypted", "data": fmt.Sprintf("AA+/=%d", i), "index": 0}}
			}
			w.delta(modeltest.Other, delta)
		}
	}
	for _, piece := range a.Text {
		w.delta(modeltest.Text, object{"content": piece})
	}
	w.calls(a.Calls)
	w.end(a)
	return w.frames
}

func (w *writer) calls(calls []modeltest.Call) {
	switch w.dialect.calls {
	case "whole": // each in one piece, under the same index
		for _, c := range calls {
			w.tool(object{"index": 0, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
		}
	case "bare": // one after the other, with its id on the first piece only
		for _, c := range calls {
			w.tool(object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}})
			for _, piece := range fragments(c.Args) {
				w.tool(object{"function": object{"arguments": piece}})
			}
		}
	default: // in turns
		most := 0
		for i, c := range calls {
			w.tool(object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}})
			most = max(most, len(fragments(c.Args)))
		}
		for n := range most {
			for i, c := range calls {
				if f := fragments(c.Args); n < len(f) {
					w.tool(object{"index": i, "function": object{"arguments": f[n]}})
				}
			}
		}
	}
}

func (w *writer) tool(call object) {
	w.delta(modeltest.Other, object{"tool_calls": []any{call}})
}

func fragments(s string) []string {
	var all []string
	for r := []rune(s); len(r) > 0; r = r[min(5, len(r)):] {
		all = append(all, string(r[:min(5, len(r))]))
	}
	return all
}

func (w *writer) end(a modeltest.Answer) {
	finish := a.Finish
	if w.alwaysStop && finish == "tool_calls" {
		finish = "stop"
	}
	var usage any
	if u := a.Usage; u != nil {
		usage = object{
			"prompt_tokens": u.GetInputTokens(), "completion_tokens": u.GetOutputTokens(), "total_tokens": u.GetInputTokens() + u.GetOutputTokens(),
			"prompt_tokens_details":     object{"cached_tokens": u.GetCachedInputTokens()},
			"completion_tokens_details": object{"reasoning_tokens": u.GetReasoningTokens()},
		}
	}
	last := object{"choices": []any{object{"index": 0, "delta": object{}, "logprobs": nil, "finish_reason": finish}}}
	if w.usageInFinish {
		last["usage"] = usage
		w.chunk(modeltest.End, last)
	} else {
		w.chunk(modeltest.End, last)
		if usage != nil {
			w.chunk(modeltest.Tail, object{"choices": []any{}, "usage": usage})
		}
	}
	w.frames = append(w.frames, modeltest.Frame{Kind: modeltest.Tail, Bytes: []byte("data: [DONE]\n\n")})
}

// refuse writes the body of a response that is an error.
func refuse(status int, why modeltest.Why) modeltest.Refusal {
	message, kind, code := "Something is wrong with the request.", "invalid_request_error", ""
	switch {
	case why == modeltest.Exhausted:
		message, kind, code = "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"
	case why == modeltest.Unsafe:
		message, code = "The safety rules do not allow it.", "content_policy_violation"
	case why == modeltest.TooLong:
		message, code = "This model's maximum context length is 10 tokens.", "context_length_exceeded"
	case status == 401:
		message, code = "No such key.", "invalid_api_key"
	case status == 429:
		message, kind, code = "Slow down.", "tokens", "rate_limit_exceeded"
	case status >= 500:
		message, kind = "It did not work.", "server_error"
	}
	inner := object{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		inner["code"] = code
	}
	return modeltest.Refusal{Body: strings.TrimPrefix(strings.TrimSpace(string(frame(object{"error": inner}))), "data: "), Code: code, Type: kind}
}

// event writes an error inside the stream.
func (d dialect) event(why modeltest.Why) (modeltest.Frame, modeltest.Refusal) {
	type row struct {
		code, kind string
		number     int
	}
	r := map[modeltest.Why]row{
		modeltest.Exhausted: {"insufficient_quota", "insufficient_quota", 0}, modeltest.Unsafe: {"content_policy_violation", "", 0},
		modeltest.TooLong: {"context_length_exceeded", "invalid_request_error", 0}, modeltest.Busy: {"", "overloaded_error", 503},
		modeltest.TooFast: {"rate_limit_exceeded", "", 429}, modeltest.ServerFail: {"", "server_error", 502},
		modeltest.BadInput: {"", "invalid_request_error", 400},
	}[why]
	inner := object{"message": "These are the host's words about it."}
	if d.numbers && r.number > 0 {
		r.code, r.kind, inner["code"] = fmt.Sprint(r.number), "", r.number
	} else if r.code != "" {
		inner["code"] = r.code
	}
	if r.kind != "" {
		inner["type"] = r.kind
	}
	return modeltest.Frame{Kind: modeltest.End, Bytes: frame(object{"id": "gen-1", "error": inner, "choices": []any{}})}, modeltest.Refusal{Code: r.code, Type: r.kind}
}
