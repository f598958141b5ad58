package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/gemini"
	"github.com/cadre-dev/cadre/internal/model/modeltest"
)

// server answers each request by play and keeps the last body and path.
type server struct{ base, path, body string }

func serve(t *testing.T, play func(w http.ResponseWriter)) *server {
	t.Helper()
	got := &server{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got.body, got.path = string(data), r.URL.String()
		play(w)
	}))
	t.Cleanup(s.Close)
	got.base = s.URL
	return got
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

func status(code int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// ended is the last chunk of an answer, with its parts.
func ended(reason string, parts ...object) []byte {
	c := chunkOf(parts...)
	c["candidates"].([]any)[0].(object)["finishReason"] = reason
	c["candidates"].([]any)[0].(object)["finishMessage"] = "said of " + reason
	return frame(c)
}

func ask(ctx context.Context, m model.Model, req model.Request) (parts []model.Part, err error) {
	for p, e := range m.Ask(ctx, req) {
		if err = e; e == nil {
			parts = append(parts, p)
		}
	}
	return parts, err
}

// fails asks and wants a *model.Error.
func fails(t *testing.T, m model.Model) *model.Error {
	t.Helper()
	parts, err := ask(t.Context(), m, hello())
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("it ends with %v, %v, want a *model.Error", parts, err)
	}
	return e
}

func user(s string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: s}}}
}

func hello() model.Request { return model.Request{History: []*messagev1.Item{user("Hello.")}} }

func TestOpenNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	key := map[string]string{"GEMINI_API_KEY": "secret-k"}
	for name, one := range map[string]struct {
		env          map[string]string
		id           string
		code         fault.Code
		reason, says string
	}{
		"no key":      {nil, "gemini-x", fault.FailedPrecondition, "MODEL_KEY_MISSING", "GEMINI_API_KEY"},
		"blank key":   {map[string]string{"GEMINI_API_KEY": "\t"}, "gemini-x", fault.FailedPrecondition, "MODEL_KEY_MISSING", "GEMINI_API_KEY"},
		"broken key":  {map[string]string{"GEMINI_API_KEY": "secret-k\nsecret-k"}, "gemini-x", fault.FailedPrecondition, "MODEL_KEY_INVALID", "GEMINI_API_KEY"},
		"no base":     {map[string]string{"GEMINI_API_KEY": "secret-k", "GEMINI_BASE_URL": "x"}, "gemini-x", fault.FailedPrecondition, "MODEL_BASE_URL_INVALID", "GEMINI_BASE_URL"},
		"with a user": {map[string]string{"GEMINI_API_KEY": "secret-k", "GEMINI_BASE_URL": "https://secret-k@x"}, "gemini-x", fault.FailedPrecondition, "MODEL_BASE_URL_INVALID", "GEMINI_BASE_URL"},
		"other path":  {key, "../v1/files", fault.InvalidArgument, "MODEL_NAME_INVALID", "gemini/<id>"},
		"a query":     {key, "x?key=1", fault.InvalidArgument, "MODEL_NAME_INVALID", "gemini/<id>"},
		"a method":    {key, "x:predict", fault.InvalidArgument, "MODEL_NAME_INVALID", "gemini/<id>"},
	} {
		_, err := gemini.New(env(one.env)).Open(t.Context(), one.id)
		if f := fault.From(err); f == nil || f.Code != one.code || f.Reason != one.reason || !strings.Contains(f.Message, one.says) {
			t.Errorf("%s: %v, want %s about %s", name, err, one.reason, one.says)
		}
		if err != nil && strings.Contains(err.Error(), "secret-k") {
			t.Errorf("%s: the key stands in %v", name, err)
		}
	}
	if sum, err := gemini.New(env(nil)).Fingerprint(t.Context(), "x"); sum != "" || err != nil {
		t.Errorf("the fingerprint is %q, %v", sum, err)
	}
}

// TestPath: where requests go, also behind a gateway.
func TestPath(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"gemini-3-flash": "/gate/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse",
		"models/x.1":     "/gate/v1beta/models/x.1:streamGenerateContent?alt=sse",
		"tunedModels/x":  "/gate/v1beta/tunedModels/x:streamGenerateContent?alt=sse",
	} {
		s := serve(t, stream(ended("STOP", object{"text": "a"})))
		if _, err := ask(t.Context(), open(t, s.base+"/gate/", id), hello()); err != nil || s.path != want {
			t.Errorf("%s goes to %s, %v, want %s", id, s.path, err, want)
		}
	}
}

// TestKeyStaysInside: a server that repeats the key does not get it into an error.
func TestKeyStaysInside(t *testing.T) {
	t.Parallel()
	const key = modeltest.Key
	body := fmt.Sprintf(`{"error":{"code":400,"status":"S-%[1]s","message":"API key not valid: %[1]s","details":[{"reason":"R-%[1]s"}]}}`, key)
	for name, play := range map[string]func(http.ResponseWriter){
		"status":  status(400, body),
		"html":    status(502, "<p>"+key+"</p>"),
		"event":   stream([]byte("data: " + body + "\n\n")),
		"no JSON": stream([]byte("data: " + key + "\n\n")),
		"type":    stream([]byte(`data: {"responseId":{"` + key + `":1}}` + "\n\n")),
		"blocked": stream(frame(object{"promptFeedback": object{"blockReason": key, "blockReasonMessage": key}})),
	} {
		s := serve(t, play)
		e := fails(t, open(t, s.base, "x"))
		if strings.Contains(fmt.Sprintf("%+v %v", *e, e), key) {
			t.Errorf("%s: the key stands in %+v", name, *e)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"STOP": "stop", "MAX_TOKENS": "length", "OTHER": "OTHER", "LANGUAGE": "LANGUAGE", "zzz": "zzz"} {
		s := serve(t, stream(ended(reason, object{"text": "a"})))
		parts, err := ask(t.Context(), open(t, s.base, "x"), hello())
		if err != nil || len(parts) != 2 || parts[1].Done.FinishReason != want || parts[1].Done.ResponseID != "resp_1" {
			t.Errorf("%s: %+v, %v, want %s", reason, parts, err, want)
		}
	}
	for reason, want := range map[string]model.Category{
		"SAFETY": model.Refused, "RECITATION": model.Refused, "PROHIBITED_CONTENT": model.Refused, "BLOCKLIST": model.Refused, "SPII": model.Refused,
		"MALFORMED_FUNCTION_CALL": model.Malformed, "UNEXPECTED_TOOL_CALL": model.Malformed,
	} {
		s := serve(t, stream(ended(reason)))
		e := fails(t, open(t, s.base, "x"))
		if e.Category != want || e.Code != reason || e.Message != "said of "+reason || e.Started {
			t.Errorf("%s: %+v, want %s", reason, e, want)
		}
	}
}

// TestErrors: what Google's errors say in their details.
func TestErrors(t *testing.T) {
	t.Parallel()
	const hint = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota.","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%s"}]}}`
	for name, one := range map[string]struct {
		code int
		body string
		want model.Error
	}{
		"soon":    {429, fmt.Sprintf(hint, "43.2s"), model.Error{Category: model.RateLimited, Status: 429, Code: "RESOURCE_EXHAUSTED", RetryAfter: 43200 * time.Millisecond}},
		"hours":   {429, fmt.Sprintf(hint, "7200s"), model.Error{Category: model.Quota, Status: 429, Code: "RESOURCE_EXHAUSTED", RetryAfter: 2 * time.Hour, Quota: model.QuotaOther}},
		"a day":   {429, strings.ReplaceAll(fmt.Sprintf(hint, "43.2s"), `"quotaMetric":"m"`, `"quotaId":"RequestsPerDay-Free"`), model.Error{Category: model.Quota, Status: 429, Code: "RESOURCE_EXHAUSTED", RetryAfter: 43200 * time.Millisecond, Quota: model.QuotaDaily}},
		"the key": {400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}`, model.Error{Category: model.Authentication, Status: 400, Code: "INVALID_ARGUMENT", Type: "API_KEY_INVALID"}},
		"a list":  {503, `[{"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}]`, model.Error{Category: model.Overloaded, Status: 503, Code: "UNAVAILABLE"}},
	} {
		s := serve(t, status(one.code, one.body))
		e := *fails(t, open(t, s.base, "x"))
		e.Message = ""
		if e != one.want {
			t.Errorf("%s: %+v, want %+v", name, e, one.want)
		}
	}
	text := frame(chunkOf(object{"text": "half"}))
	for name, body := range map[string]string{
		"an event": "data: " + fmt.Sprintf(hint, "1.5s") + "\n\n",
		"bare":     strings.ReplaceAll(fmt.Sprintf(hint, "1.5s"), ",", ",\n  ") + "\n",
		"a list":   "[" + fmt.Sprintf(hint, "1.5s") + "\n]",
	} {
		s := serve(t, stream(text, []byte(body)))
		if e := fails(t, open(t, s.base, "x")); e.Category != model.RateLimited || e.RetryAfter != 1500*time.Millisecond || !e.Started {
			t.Errorf("inside the stream, %s: %+v", name, e)
		}
	}
	for _, body := range []string{"[]", "{}", "{\"error\":", "[1]"} {
		s := serve(t, stream(text, []byte(body)))
		if e := fails(t, open(t, s.base, "x")); e.Category != model.Malformed {
			t.Errorf("behind half an answer comes %s: %+v", body, e)
		}
	}
}

// TestValidText: what is no UTF-8 does not get into the history.
func TestValidText(t *testing.T) {
	t.Parallel()
	s := serve(t, stream([]byte("data: {\"responseId\":\"r\xff\",\"candidates\":[{\"finishReason\":\"z\xff\",\"content\":{\"parts\":["+
		"{\"text\":\"a\xff\"},{\"text\":\"t\xff\",\"thought\":true,\"thoughtSignature\":\"s\xff\"},{\"functionCall\":{\"id\":\"i\xff\",\"name\":\"n\xff\",\"args\":{\"a\":\"\xff\"}}}]}}]}\n\n")))
	parts, err := ask(t.Context(), open(t, s.base, "x"), hello())
	if err != nil || len(parts) != 5 {
		t.Fatalf("%+v, %v", parts, err)
	}
	for _, p := range parts {
		r, c, d := p.Reasoning, p.ToolCall, p.Done
		if d == nil {
			d = &model.Done{}
		}
		if all := p.Text + r.GetText() + string(r.GetPrivate()) + c.GetId() + c.GetName() + c.GetArguments() + d.FinishReason + d.ResponseID; all == "" || !utf8.ValidString(all) {
			t.Errorf("%q in %+v", all, p)
		}
	}
}

// TestBehindEnd: figures may come behind the end, content may not.
func TestBehindEnd(t *testing.T) {
	t.Parallel()
	figures := frame(object{"usageMetadata": object{"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}})
	s := serve(t, stream(ended("STOP", object{"text": "a"}), figures, ended("STOP")))
	parts, err := ask(t.Context(), open(t, s.base, "x"), hello())
	if err != nil || len(parts) != 2 || parts[1].Done.Usage.GetInputTokens() != 5 || parts[1].Done.Usage.GetOutputTokens() != 3 {
		t.Errorf("%+v, %v", parts, err)
	}
	s = serve(t, stream(ended("STOP"), frame(chunkOf(object{"functionCall": object{"name": "f"}}))))
	if e := fails(t, open(t, s.base, "x")); e.Category != model.Malformed {
		t.Errorf("a call behind the end: %+v", e)
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
		s := serve(t, func(w http.ResponseWriter) { n.Add(1); play(w) })
		_ = fails(t, open(t, s.base, "x"))
		if n.Load() != 1 {
			t.Errorf("%s: %d requests came, want 1", name, n.Load())
		}
	}
}
