package gemini_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/gemini"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

func TestWire(t *testing.T) {
	t.Parallel()
	modeltest.RunWire(t, modeltest.Wire{
		Provider: "gemini",
		Open:     func(t *testing.T, base string) model.Model { return open(t, base, modeltest.ModelID) },
		Read:     read,
		Answer:   answer,
		Refuse:   refuse,
		Event:    event,
		Unseen:   []string{"image/gif"},
		// Chunks have no type; one may hold what nobody knows.
		Unknown: []byte("event: hint\nid: 7\ndata: {\"newThing\":{\"a\":1},\ndata: \"candidates\":[{\"content\":{\"parts\":[{\"executableCode\":{\"code\":\"1\"}}]}}]}\n\n"),
	})
}

// open gives a model that talks to base.
func open(t *testing.T, base, id string) model.Model {
	t.Helper()
	p := gemini.New(env(map[string]string{"GEMINI_API_KEY": modeltest.Key, "GEMINI_BASE_URL": base}))
	m, err := p.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

type object = map[string]any

// frame is one chunk of the stream.
func frame(data object) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, "data: %s\r\n\r\n", text)
}

// chunkOf holds parts of the one candidate.
func chunkOf(parts ...object) object {
	return object{"candidates": []any{object{"content": object{"role": "model", "parts": parts}, "index": 0}}, "modelVersion": "v", "responseId": "resp_1"}
}

// finishes are the API's words.
var finishes = map[string]string{"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}

// answer writes an answer as the API streams it: a call is whole in one part, and the
// first call of several carries the signature.
func answer(a modeltest.Answer) []modeltest.Frame {
	var frames []modeltest.Frame
	add := func(kind modeltest.FrameKind, data object) {
		frames = append(frames, modeltest.Frame{Kind: kind, Bytes: frame(data)})
	}
	if a.Reasoning != "" {
		runes := []rune(a.Reasoning)
		for _, piece := range []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])} {
			add(modeltest.Other, chunkOf(object{"text": piece, "thought": true}))
		}
	}
	for _, piece := range a.Text {
		add(modeltest.Text, chunkOf(object{"text": piece}))
	}
	var calls []object
	for i, c := range a.Calls {
		call := object{"functionCall": object{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.Args)}}
		if c.Args == "{}" {
			delete(call["functionCall"].(object), "args")
		}
		if i == 0 && a.Reasoning != "" {
			call["thoughtSignature"] = "c2lnbmVk+/=="
		}
		calls = append(calls, call)
	}
	for len(calls) > 0 { // two to a chunk
		n := min(2, len(calls))
		add(modeltest.Other, chunkOf(calls[:n]...))
		calls = calls[n:]
	}
	end := chunkOf(object{"text": ""})
	if a.Reasoning != "" && len(a.Calls) == 0 {
		end = chunkOf(object{"text": "", "thoughtSignature": "ZW5k"})
	}
	if a.Finish != "" {
		word, ok := finishes[a.Finish]
		if !ok {
			word = a.Finish
		}
		end["candidates"].([]any)[0].(object)["finishReason"] = word
	}
	if u := a.Usage; u != nil {
		end["usageMetadata"] = object{
			"promptTokenCount": u.GetInputTokens(), "cachedContentTokenCount": u.GetCachedInputTokens(), "candidatesTokenCount": u.GetOutputTokens() - u.GetReasoningTokens(),
			"thoughtsTokenCount": u.GetReasoningTokens(), "totalTokenCount": u.GetInputTokens() + u.GetOutputTokens(), "promptTokensDetails": []any{object{"modality": "TEXT"}},
		}
	}
	add(modeltest.End, end)
	return frames
}

// words are the API's names of errors by status.
var words = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "FAILED_PRECONDITION", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	408: "DEADLINE_EXCEEDED", 409: "ABORTED", 413: "INVALID_ARGUMENT", 422: "FAILED_PRECONDITION", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL",
	502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE",
}

// reasons are what errors say that the status does not: a status of their own, where
// they come inside a stream, a message, and the reason in the details.
var reasons = map[modeltest.Why]struct {
	status          int
	message, detail string
}{
	modeltest.Exhausted:  {429, "You exceeded your current quota: limit 100 requests per day, please check your plan.", ""},
	modeltest.Unsafe:     {400, "The request was blocked.", "PROHIBITED_CONTENT"},
	modeltest.TooLong:    {400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", ""},
	modeltest.Busy:       {503, "The model is overloaded.", ""},
	modeltest.TooFast:    {429, "Resource has been exhausted: 10 requests per minute.", ""},
	modeltest.ServerFail: {500, "An internal error has occurred.", ""},
	modeltest.BadInput:   {400, "contents is not specified", ""},
}

func refuse(status int, why modeltest.Why) modeltest.Refusal {
	r, ok := reasons[why]
	if !ok {
		r.message = "the API says what is wrong"
	}
	said := object{"code": status, "status": words[status], "message": r.message}
	if r.detail != "" {
		said["details"] = []any{
			object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": r.detail, "domain": "googleapis.com"},
			object{"@type": "type.googleapis.com/google.rpc.Help", "links": []any{}},
		}
	}
	body, err := json.MarshalIndent(object{"error": said}, "", "  ")
	if err != nil {
		panic(err)
	}
	return modeltest.Refusal{Body: string(body), Code: words[status], Type: r.detail}
}

func event(why modeltest.Why) (modeltest.Frame, modeltest.Refusal) {
	if why == modeltest.Unsafe { // how the API blocks a prompt
		data := object{"promptFeedback": object{"blockReason": "PROHIBITED_CONTENT", "safetyRatings": []any{}}, "usageMetadata": object{"promptTokenCount": 3}}
		return modeltest.Frame{Kind: modeltest.Other, Bytes: frame(data)}, modeltest.Refusal{Code: "PROHIBITED_CONTENT"}
	}
	said := refuse(reasons[why].status, why)
	var data object
	if err := json.Unmarshal([]byte(said.Body), &data); err != nil {
		panic(err)
	}
	return modeltest.Frame{Kind: modeltest.Other, Bytes: frame(data)}, said
}
