package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/anthropic"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

// server answers each request by play and keeps the last body.
func server(t *testing.T, play func(w http.ResponseWriter)) (base string, body *[]byte) {
	t.Helper()
	body = new([]byte)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*body, _ = io.ReadAll(r.Body)
		play(w)
	}))
	t.Cleanup(s.Close)
	return s.URL, body
}

// stream plays frames.
func stream(frames ...[]byte) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, f := range frames {
			_, _ = w.Write(f)
		}
	}
}

func whole(a modeltest.Answer) func(http.ResponseWriter) {
	var all [][]byte
	for _, f := range answer(a) {
		all = append(all, f.Bytes)
	}
	return stream(all...)
}

func ask(ctx context.Context, m model.Model, req model.Request) (done *model.Done, err error) {
	for p, e := range m.Ask(ctx, req) {
		if p.Done != nil {
			done = p.Done
		}
		err = e
	}
	return done, err
}

func user(s string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: s}}}
}

func hello() model.Request { return model.Request{History: []*messagev1.Item{user("Hello.")}} }

// sent is the request that a server got for req.
func sent(t *testing.T, id string, req model.Request) string {
	t.Helper()
	base, body := server(t, whole(modeltest.Answer{Text: []string{"Hi."}, Finish: "stop"}))
	if _, err := ask(t.Context(), open(t, base, id), req); err != nil {
		t.Fatal(err)
	}
	return string(*body)
}

func TestOpenNamesTheVariable(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		env    map[string]string
		reason string
		says   string
	}{
		"no key":       {nil, "MODEL_KEY_MISSING", "ANTHROPIC_API_KEY"},
		"blank key":    {map[string]string{"ANTHROPIC_API_KEY": " \n"}, "MODEL_KEY_MISSING", "ANTHROPIC_API_KEY"},
		"broken key":   {map[string]string{"ANTHROPIC_API_KEY": "secret-k\nsecret-k"}, "MODEL_KEY_INVALID", "ANTHROPIC_API_KEY"},
		"no base":      {map[string]string{"ANTHROPIC_API_KEY": "secret-k", "ANTHROPIC_BASE_URL": "api.anthropic.com"}, "MODEL_BASE_URL_INVALID", "ANTHROPIC_BASE_URL"},
		"other scheme": {map[string]string{"ANTHROPIC_API_KEY": "secret-k", "ANTHROPIC_BASE_URL": "ftp://x"}, "MODEL_BASE_URL_INVALID", "ANTHROPIC_BASE_URL"},
		"with a user":  {map[string]string{"ANTHROPIC_API_KEY": "secret-k", "ANTHROPIC_BASE_URL": "https://secret-k@x"}, "MODEL_BASE_URL_INVALID", "ANTHROPIC_BASE_URL"},
	} {
		_, err := anthropic.New(env(one.env)).Open(t.Context(), "claude-x")
		if f := fault.From(err); f == nil || f.Code != fault.FailedPrecondition || f.Reason != one.reason || !strings.Contains(f.Message, one.says) {
			t.Errorf("%s: %v, want %s about %s", name, err, one.reason, one.says)
		}
		if err != nil && strings.Contains(err.Error(), "secret-k") {
			t.Errorf("%s: the key stands in %v", name, err)
		}
	}
	if sum, err := anthropic.New(env(nil)).Fingerprint(t.Context(), "claude-x"); sum != "" || err != nil {
		t.Errorf("the fingerprint is %q, %v", sum, err)
	}
}

// TestBasePath: a base URL with a path keeps it, for gateways.
func TestBasePath(t *testing.T) {
	t.Parallel()
	var path string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		whole(modeltest.Answer{Finish: "stop"})(w)
	}))
	defer s.Close()
	if _, err := ask(t.Context(), open(t, s.URL+"/gate/way/", "x"), hello()); err != nil {
		t.Fatal(err)
	}
	if path != "/gate/way/v1/messages" {
		t.Errorf("the request goes to %s", path)
	}
}

// TestKeyStaysInside: a server that repeats the key does not get it into an error.
func TestKeyStaysInside(t *testing.T) {
	t.Parallel()
	const key = modeltest.Key
	body := fmt.Sprintf(`{"type":"error","error":{"type":"e-%[1]s","code":"c-%[1]s","message":"invalid x-api-key: %[1]s"}}`, key)
	for name, play := range map[string]func(http.ResponseWriter){
		"status":    func(w http.ResponseWriter) { w.WriteHeader(401); _, _ = io.WriteString(w, body) },
		"html":      func(w http.ResponseWriter) { w.WriteHeader(502); _, _ = io.WriteString(w, "<p>"+key+"</p>") },
		"event":     stream([]byte("event: error\ndata: " + body + "\n\n")),
		"no event":  stream([]byte("event: message_start\ndata: {\"" + key + "\n\n")),
		"odd event": stream([]byte("event: error\ndata: " + key + "\n\n")),
	} {
		base, _ := server(t, play)
		_, err := ask(t.Context(), open(t, base, "x"), hello())
		var e *model.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, want a *model.Error", name, err)
			continue
		}
		if strings.Contains(fmt.Sprintf("%+v %v", *e, err), key) {
			t.Errorf("%s: the key stands in %+v", name, *e)
		}
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length",
		"model_context_window_exceeded": "model_context_window_exceeded", "pause_turn": "pause_turn", "zzz": "zzz",
	} {
		base, _ := server(t, whole(modeltest.Answer{Text: []string{"a"}, Finish: reason}))
		done, err := ask(t.Context(), open(t, base, "x"), hello())
		if err != nil || done == nil || done.FinishReason != want || done.ResponseID != "msg_01" {
			t.Errorf("%s: %+v, %v, want %s", reason, done, err, want)
		}
	}
}

// TestRefusal: the API's reason for it is kept.
func TestRefusal(t *testing.T) {
	t.Parallel()
	base, _ := server(t, stream(
		frame("message_start", map[string]any{"type": "message_start", "message": map[string]any{"id": "m"}}),
		frame("message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{
			"stop_reason": "refusal", "stop_details": map[string]any{"type": "refusal", "category": "bio", "explanation": "No such help."},
		}}),
	))
	_, err := ask(t.Context(), open(t, base, "x"), hello())
	var e *model.Error
	if !errors.As(err, &e) || e.Category != model.Refused || e.Code != "refusal" || e.Type != "bio" || e.Message != "No such help." || e.Started {
		t.Errorf("the error is %+v", err)
	}
}

// TestQuotaAs400: the API reports a used-up account as a bad request.
func TestQuotaAs400(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
		"You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC.",
	} {
		base, _ := server(t, func(w http.ResponseWriter) {
			w.WriteHeader(400)
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": message}})
		})
		_, err := ask(t.Context(), open(t, base, "x"), hello())
		var e *model.Error
		if !errors.As(err, &e) || e.Category != model.Quota {
			t.Errorf("%q is %v, want quota", message, err)
		}
	}
}

// TestBrokenOrder: events that do not fit together are no answer.
func TestBrokenOrder(t *testing.T) {
	t.Parallel()
	begin := frame("message_start", map[string]any{"type": "message_start", "message": map[string]any{"id": "m"}})
	open0 := frame("content_block_start", map[string]any{"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "tool_use", "id": "t", "name": "n"}})
	more0 := frame("content_block_delta", map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": "a"}})
	stop0 := frame("content_block_stop", map[string]any{"type": "content_block_stop", "index": 0})
	reason := frame("message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": "end_turn"}})
	end := frame("message_stop", map[string]any{"type": "message_stop"})
	for name, frames := range map[string][][]byte{
		"a block that did not end":       {begin, open0, reason, end},
		"a block that began twice":       {begin, open0, open0, stop0, reason, end},
		"a piece of no block":            {begin, more0, reason, end},
		"the end of no block":            {begin, stop0, reason, end},
		"no reason":                      {begin, end},
		"a block behind the end":         {begin, reason, end, open0},
		"the end of a block behind it":   {begin, reason, end, stop0},
		"nothing but the beginning":      {begin},
		"an event that is no JSON":       {begin, []byte("event: message_delta\ndata: {]\n\n")},
		"an event that stops in a field": {begin, []byte("event: message_stop\ndata: {\"type\":\"mess")},
	} {
		base, _ := server(t, stream(frames...))
		done, err := ask(t.Context(), open(t, base, "x"), hello())
		var e *model.Error
		if done != nil || !errors.As(err, &e) || e.Category != model.Malformed {
			t.Errorf("%s: %+v, %v, want malformed", name, done, err)
		}
	}
}

// TestWholeBlocks: a server may send a block's content with its beginning.
func TestWholeBlocks(t *testing.T) {
	t.Parallel()
	block := func(i int, b map[string]any) []byte {
		return append(frame("content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": b}),
			frame("content_block_stop", map[string]any{"type": "content_block_stop", "index": i})...)
	}
	base, _ := server(t, stream(
		frame("message_start", map[string]any{"type": "message_start", "message": map[string]any{"id": "m"}}),
		block(0, map[string]any{"type": "thinking", "thinking": "Hm.", "signature": "s"}),
		block(1, map[string]any{"type": "text", "text": "Hi."}),
		block(2, map[string]any{"type": "tool_use", "id": "t", "name": "n", "input": map[string]any{"a": 1}}),
		block(3, map[string]any{"type": "server_tool_use", "id": "s", "name": "web_search"}),
		frame("message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": "tool_use"}}),
		frame("message_stop", map[string]any{"type": "message_stop"}),
	))
	var got []string
	for p, err := range open(t, base, "x").Ask(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case p.Text != "":
			got = append(got, p.Text)
		case p.Reasoning != nil:
			got = append(got, p.Reasoning.GetText()+string(p.Reasoning.GetPrivate()))
		case p.ToolCall != nil:
			got = append(got, p.ToolCall.GetId()+" "+p.ToolCall.GetName()+" "+p.ToolCall.GetArguments())
		}
	}
	want := `Hm.|{"type":"thinking","thinking":"Hm.","signature":"s"}|Hi.|t n {"a":1}`
	if strings.Join(got, "|") != want {
		t.Errorf("the parts are %s, want %s", strings.Join(got, "|"), want)
	}
}

// TestValidText: what is no UTF-8 does not get into the history.
func TestValidText(t *testing.T) {
	t.Parallel()
	broken := func(name, data string) []byte {
		return []byte("event: " + name + "\ndata: {\"type\":\"" + name + "\"," + strings.ReplaceAll(data, "~", "\xff") + "}\n\n")
	}
	base, _ := server(t, stream(
		broken("message_start", `"message":{"id":"m~"}`),
		broken("content_block_start", `"index":0,"content_block":{"type":"text","text":"a~"}`),
		broken("content_block_stop", `"index":0`),
		broken("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"i~","name":"n~"}`),
		broken("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"~\"}"}`),
		broken("content_block_stop", `"index":1`),
		broken("content_block_start", `"index":2,"content_block":{"type":"thinking","thinking":"t~","signature":"s~"}`),
		broken("content_block_stop", `"index":2`),
		broken("content_block_start", `"index":3,"content_block":{"type":"tool_use","id":"i","name":"n","input":{"a":"~"}}`),
		broken("content_block_stop", `"index":3`),
		broken("message_delta", `"delta":{"stop_reason":"z~"}`),
		broken("message_stop", `"a":1`),
	))
	n := 0
	for p, err := range open(t, base, "x").Ask(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		r, c, d := p.Reasoning, p.ToolCall, p.Done
		if d == nil {
			d = &model.Done{}
		}
		if all := p.Text + r.GetText() + string(r.GetPrivate()) + c.GetId() + c.GetName() + c.GetArguments() + d.FinishReason + d.ResponseID; all == "" || !utf8.ValidString(all) {
			t.Errorf("%q in %+v", all, p)
		}
	}
	if n != 6 {
		t.Errorf("%d parts came, want 6", n)
	}
}

// TestOneRequest: nothing is sent twice, whatever fails, and no redirect is followed.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(http.ResponseWriter){
		"500": func(w http.ResponseWriter) { w.Header().Set("X-Should-Retry", "true"); w.WriteHeader(500) },
		"429": func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) },
		"302": func(w http.ResponseWriter) { w.Header().Set("Location", "/"); w.WriteHeader(302) },
		"cut": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		var n atomic.Int32
		base, _ := server(t, func(w http.ResponseWriter) { n.Add(1); play(w) })
		if _, err := ask(t.Context(), open(t, base, "x"), hello()); err == nil {
			t.Errorf("%s: there is no error", name)
		}
		if n.Load() != 1 {
			t.Errorf("%s: %d requests came, want 1", name, n.Load())
		}
	}
}

// TestSeals: what is kept of thoughts, with the signature that came in pieces.
func TestSeals(t *testing.T) {
	t.Parallel()
	base, _ := server(t, whole(modeltest.Answer{Reasoning: "<Hm>", Finish: "stop"}))
	var got []string
	for p, err := range open(t, base, "x").Ask(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if private := p.Reasoning.GetPrivate(); private != nil {
			got = append(got, string(private))
		}
	}
	want := `{"type":"thinking","thinking":"\u003cHm\u003e","signature":"c2lnbmVk+/=="} {"type":"redacted_thinking","data":"b3BhcXVl"}`
	if strings.Join(got, " ") != want {
		t.Errorf("the seals are %s, want %s", got, want)
	}
}

// TestCutCalls: an answer that ran out of tokens in a call does not have that call; one
// that ended by itself has them all, in order.
func TestCutCalls(t *testing.T) {
	t.Parallel()
	play := func(reason string, last ...string) func(http.ResponseWriter) {
		frames := [][]byte{frame("message_start", map[string]any{"type": "message_start", "message": map[string]any{"id": "m"}})}
		for i, args := range append([]string{`{"a":1}`}, last...) {
			frames = append(frames,
				frame("content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": map[string]any{"type": "tool_use", "id": fmt.Sprint("t", i), "name": "n", "input": map[string]any{}}}),
				frame("content_block_delta", map[string]any{"type": "content_block_delta", "index": i, "delta": map[string]any{"type": "input_json_delta", "partial_json": args}}),
				frame("content_block_stop", map[string]any{"type": "content_block_stop", "index": i}))
		}
		return stream(append(frames,
			frame("message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason}}),
			frame("message_stop", map[string]any{"type": "message_stop"}))...)
	}
	for name, one := range map[string]struct {
		play func(http.ResponseWriter)
		want string
	}{
		"cut in arguments":     {play("max_tokens", `{"b":`), `{"a":1}`},
		"cut before arguments": {play("max_tokens", ``), `{"a":1}`},
		"cut behind a call":    {play("max_tokens", `{"b":2}`), `{"a":1} {"b":2}`},
		"no arguments":         {play("tool_use", ``, `{"c":3}`), `{"a":1} {} {"c":3}`},
		"no JSON":              {play("tool_use", `{"b":`, `{"c":3}`), `{"a":1} {"b": {"c":3}`},
	} {
		base, _ := server(t, one.play)
		var got []string
		for p, err := range open(t, base, "x").Ask(t.Context(), hello()) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if p.ToolCall != nil {
				got = append(got, p.ToolCall.GetArguments())
			}
		}
		if strings.Join(got, " ") != one.want {
			t.Errorf("%s: the calls are %q, want %q", name, got, one.want)
		}
	}
}
