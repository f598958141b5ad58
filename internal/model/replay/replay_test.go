package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/anthropic"
	"github.com/cadre-dev/cadre/internal/model/gemini"
	"github.com/cadre-dev/cadre/internal/model/openai"
	"github.com/cadre-dev/cadre/internal/model/openai/chat"
	"github.com/cadre-dev/cadre/internal/model/replay"
)

// plain is a provider that posts the instructions and gives the body as text.
var plain = model.Registration{Name: "plain", Open: func(env func(string) string) (model.Provider, error) { return poster{env}, nil }}

type poster struct{ env func(string) string }

func (p poster) Open(context.Context, string) (model.Model, error) {
	if p.env("PLAIN_API_KEY") == "" {
		return nil, errors.New("no key")
	}
	return p, nil
}

func (poster) Fingerprint(context.Context, string) (string, error) { return "", nil }

func (poster) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return model.Stream(ctx, func(ctx context.Context, give func(model.Part) bool) error {
		body := req.Instructions
		for _, item := range req.History {
			body = strings.Replace(body, "PROVIDER", item.GetAssistant().GetProvider(), 1)
		}
		r, err := http.NewRequestWithContext(model.OnSent(ctx, req.Sent), http.MethodPost, "http://127.0.0.1:1/v1/ask?key=now", strings.NewReader(body))
		if err != nil {
			return err
		}
		res, err := model.HTTPClient().Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		give(model.Part{Text: string(data)})
		give(model.Part{Done: &model.Done{FinishReason: "stop"}})
		return nil
	})
}

// exchange is one of a cassette, with a request's JSON and an answer.
func exchange(number int, workspace, json, answer string) string {
	return fmt.Sprintf("---\nnumber: %d\nworkspace: %q\nrequest: {method: POST, path: \"/other/ask?key=[secret]\", json: %s}\nresponse: {status: 200, text: %q}\n...\n",
		number, workspace, json, answer)
}

func write(t *testing.T, model string, exchanges ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	text := "---\ncassette: 1\nmodel: " + model + "\n...\n" + strings.Join(exchanges, "")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) model.Model {
	t.Helper()
	r, err := model.NewRegistry([]model.Registration{plain, replay.Registration([]model.Registration{plain})}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Open(t.Context(), "replay:"+path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func say(t *testing.T, m model.Model, id, body string) (text string, err error) {
	t.Helper()
	for p, e := range m.Ask(t.Context(), model.Request{Instructions: body, RequestID: id}) {
		text, err = text+p.Text, e
	}
	return text, err
}

// Each call opens the cassette anew, as another process would.
func TestEqualRequestsAreToldApartByTheirNumber(t *testing.T) {
	t.Parallel()
	path := write(t, "plain/x", exchange(1, "", `{a: 1}`, "first"), exchange(2, "", `{a: 1}`, "second"), exchange(4, "", `{a: 1}`, "fourth"), exchange(1, "", `{a: 2}`, "other"))
	for _, c := range [][3]string{
		{"aex_1/1", `{"a":1}`, "first"}, {"aex_1/2", `{"a": 1}`, "second"}, {"aex_9/3", `{"a":1}`, "second"},
		{"aex_1/4", `{"a":1}`, "fourth"}, {"aex_1/9", `{"a":1}`, "fourth"}, {"", `{"a":1}`, "first"}, {"aex_1/7", ` {"a":2}`, "other"},
	} {
		if text, err := say(t, open(t, path), c[0], c[1]); text != c[2] || err != nil {
			t.Errorf("%s %s is answered with %q, %v, want %s", c[0], c[1], text, err, c[2])
		}
	}
}

func TestFoldersAndIdsDoNotCount(t *testing.T) {
	t.Parallel()
	told := "Your workspace is the folder %s. Give tools paths relative to it."
	path := write(t, "plain/x", exchange(1, "/rec/w", fmt.Sprintf(`{i: %q, r: "/rec/w/a and /rec/w2, artifact art_01k0000000000000000000000a"}`, fmt.Sprintf(told, "/rec/w")), "yes"))
	now := `{"i":"` + told + `","r":"%s/a and /rec/w2, artifact art_01k9999999999999999999999z"}`
	for folder, fits := range map[string]bool{"/rec/w": true, "/elsewhere/x y": true, "/": true} {
		text, err := say(t, open(t, path), "", fmt.Sprintf(now, folder, strings.TrimRight(folder, "/")))
		if folder == "/" {
			continue // nothing below it can be told from any other path; it must not panic
		}
		if (text == "yes") != fits {
			t.Errorf("%s: %q, %v", folder, text, err)
		}
	}
	// what the recorded model said of its own folder comes back in the history
	if text, err := say(t, open(t, path), "", fmt.Sprintf(now, "/new", "/rec/w")); text != "yes" {
		t.Error(err)
	}
	if _, err := say(t, open(t, path), "", fmt.Sprintf(now, "/new", "/new2")); err == nil {
		t.Error("another folder is taken for the workspace")
	}
}

func TestARequestThatDiffersIsRefusedWithWhatDiffers(t *testing.T) {
	t.Parallel()
	path := write(t, "plain/x",
		exchange(1, "", `{model: x, messages: [{role: user, content: hello}]}`, "1"),
		exchange(2, "", `{model: x, messages: [{role: user, content: "hello there, how are you today?"}], max: 10}`, "2"))
	_, err := say(t, open(t, path), "aex_1/1", `{"model":"x","messages":[{"role":"user","content":"hello there, how are they today?"},{"role":"user"}],"tools":[]}`)
	var e *model.Error
	if !errors.As(err, &e) || e.Category != model.BadRequest || e.Code != "replay" || e.Started {
		t.Fatalf("%#v", err)
	}
	want := `the cassette c.yaml has no answer to this request. Nearest is its exchange 2; recorded -> now:
  max: 10 -> (nothing)
  messages[0].content: "…ello there, how are you today?" -> "…ello there, how are they today?"
  messages[1]: (nothing) -> {"role":"user"}
  tools: (nothing) -> []
Record it again if the change is meant`
	if e.Message != want {
		t.Errorf("%s\nwant\n%s", e.Message, want)
	}
	if _, err := say(t, open(t, write(t, "plain/x")), "", `{}`); err == nil || !strings.Contains(err.Error(), "it is empty") {
		t.Error(err)
	}
	long := `{"model":"` + strings.Repeat("ü", 9000) + `","a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}`
	if _, err := say(t, open(t, path), "", long); !errors.As(err, &e) || len(e.Message) > 2048 {
		t.Errorf("the message has %d bytes", len(e.Message))
	}
}

func TestSentIsCalledForWhatIsAnswered(t *testing.T) {
	t.Parallel()
	m := open(t, write(t, "plain/x", exchange(1, "", `{a: 1}`, "x")))
	for body, want := range map[string]int{`{"a":1}`: 1, `{"a":2}`: 0} {
		sent := 0
		for range m.Ask(t.Context(), model.Request{Instructions: body, Sent: func() { sent++ }}) {
			continue
		}
		if sent != want {
			t.Errorf("%s: Sent was called %d times", body, sent)
		}
	}
}

// Sealed parts go back only to the provider that made them.
func TestTheProviderFindsItsOwnNameInTheHistory(t *testing.T) {
	t.Parallel()
	m := open(t, write(t, "plain/x", exchange(1, "", `{by: plain}`, "x")))
	item := &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{Provider: "replay"}}}
	for _, err := range m.Ask(t.Context(), model.Request{Instructions: `{"by":"PROVIDER"}`, History: []*messagev1.Item{item}}) {
		if err != nil {
			t.Error(err)
		}
	}
	if item.GetAssistant().GetProvider() != "replay" {
		t.Error("the caller's history was changed")
	}
}

func TestAProviderOpensWithoutAKey(t *testing.T) {
	t.Parallel()
	p, err := replay.New([]model.Registration{openai.Registration, chat.Registration, anthropic.Registration, gemini.Registration})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"openai/x", "openai-chat:openai/x", "openai-chat:groq/x", "openai-chat:ollama/x", "anthropic/x", "gemini/x"} {
		if _, err := p.Open(t.Context(), write(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, reason := range map[string]string{"replay:x": "CASSETTE_INVALID", "nonsense": "CASSETTE_INVALID", "nobody/x": "MODEL_PROVIDER_UNKNOWN"} {
		if _, err := p.Open(t.Context(), write(t, name)); fault.From(err).Reason != reason {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.Open(t.Context(), filepath.Join(t.TempDir(), "none.yaml")); fault.CodeOf(err) != fault.NotFound {
		t.Error(err)
	}
}

func TestAFileThatChangedIsAnotherDefinition(t *testing.T) {
	t.Parallel()
	p, err := replay.New([]model.Registration{plain})
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, "plain/x")
	before, err := p.Fingerprint(t.Context(), path)
	if err != nil || len(before) != 64 {
		t.Fatal(before, err)
	}
	if err := os.WriteFile(path, []byte("---\ncassette: 1\nmodel: plain/another\n...\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, err := p.Fingerprint(t.Context(), path); err != nil || after == before {
		t.Error(after, err)
	}
}
