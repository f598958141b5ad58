package cassette_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/cassette"
)

const name = "plain/one"

// sentinel is a key that must be found nowhere.
const sentinel = `sk-"sentinel"/0123456789`

// poster is a model that posts the instructions and gives the body as text.
type poster struct {
	client *http.Client
	url    string
}

func (p poster) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return model.Stream(ctx, func(ctx context.Context, give func(model.Part) bool) error {
		r, err := http.NewRequestWithContext(model.OnSent(ctx, req.Sent), http.MethodPost, p.url, strings.NewReader(req.Instructions))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+sentinel)
		res, err := p.client.Do(r)
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

// serve starts a server and gives a model that asks it.
func serve(t *testing.T, h http.HandlerFunc) poster {
	t.Helper()
	s := httptest.NewServer(h)
	c := model.HTTPClient()
	t.Cleanup(func() {
		c.CloseIdleConnections()
		s.Close()
	})
	return poster{c, s.URL + "/v1/ask?alt=sse&key=" + base64.URLEncoding.EncodeToString([]byte(sentinel))}
}

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

func say(t *testing.T, m model.Model, instructions string) (text string, err error) {
	t.Helper()
	for p, e := range m.Ask(t.Context(), model.Request{Instructions: instructions, RequestID: "aex_1/3"}) {
		text, err = text+p.Text, e
	}
	return text, err
}

func load(t *testing.T, path string) *cassette.Cassette {
	t.Helper()
	c, err := cassette.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatIsRecordedCanBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	m := cassette.Record(serve(t, answer("data: one\n\ndata: zwei ü\r\n\r\n")), name, path)
	asked := `{"b":1.50,"a":["x\ny",true,null,{}],"i":"Your workspace is the folder /tmp/a b. Give tools paths relative to it. And so on."}`
	if text, err := say(t, m, asked); err != nil || text != "data: one\n\ndata: zwei ü\r\n\r\n" {
		t.Fatalf("%q, %v", text, err)
	}
	c := load(t, path)
	if c.Model != name || len(c.Exchanges) != 1 {
		t.Fatalf("%+v", c)
	}
	x := c.Exchanges[0]
	want := `{"a":["x\ny",true,null,{}],"b":1.50,"i":"Your workspace is the folder /tmp/a b. Give tools paths relative to it. And so on."}`
	if x.Number != 3 || x.Workspace != "/tmp/a b" || x.Request.Method != "POST" || x.Request.Path != "/v1/ask?alt=sse&key=[secret]" || string(x.Request.Body) != want {
		t.Errorf("the request is %+v\n%s", x, x.Request.Body)
	}
	if x.Response.Status != 200 || string(x.Response.Body) != "data: one\n\ndata: zwei ü\r\n\r\n" || x.Response.Error != "" {
		t.Errorf("the response is %+v", x.Response)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others may read the file", info.Mode(), err)
	}
}

// The promise: what a request was authorized with stands nowhere in the file.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	inURL := base64.URLEncoding.EncodeToString([]byte(sentinel))
	for status, echo := range map[int]string{200: "data", 401: "error"} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		m := cassette.Record(serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/plain; key="+inURL)
			w.WriteHeader(status)
			fmt.Fprintf(w, "%s %s %s %q %s %s", echo, r.Header.Get("Authorization"), r.URL, sentinel, base64.StdEncoding.EncodeToString([]byte(sentinel)), body)
		}), name, path)
		_, err := say(t, m, `{"said":"`+inURL+`","also":"sk-\"sentinel\"/0123456789"}`)
		if (err != nil) != (status != 200) {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{sentinel, "0123456789", inURL, strings.TrimRight(inURL, "="), base64.StdEncoding.EncodeToString([]byte(sentinel))} {
			if bytes.Contains(data, []byte(s)) {
				t.Errorf("status %d: the cassette holds %q:\n%s", status, s, data)
			}
		}
		if n := bytes.Count(data, []byte("[secret]")); n < 6 {
			t.Errorf("status %d: only %d secrets were taken out; the test has too few:\n%s", status, n, data)
		}
	}
}

func TestAFileOfSomethingElseIsRefusedBeforeTheRequest(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"---\ncassette: 1\nmodel: plain/two\n...\n": "CASSETTE_OTHER_MODEL",
		"my notes\n":           "CASSETTE_INVALID",
		"---\nnotes: 1\n...\n": "CASSETTE_INVALID",
	} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := cassette.Record(serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request left") }), name, path)
		_, err := say(t, m, "{}")
		if fault.From(err).Reason != reason {
			t.Errorf("%q: %v", text, err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Errorf("%q became %q, %v", text, data, err)
		}
	}
	_, err := say(t, cassette.Record(serve(t, answer("x")), name, "here.yaml"), "{}")
	if fault.From(err).Reason != "CASSETTE_INVALID" {
		t.Errorf("a relative path: %v", err)
	}
}

// What a crash left behind the last whole exchange is no part of the recording.
func TestATornEndIsCutOff(t *testing.T) {
	t.Parallel()
	whole := "---\ncassette: 1\nmodel: plain/one\n...\n"
	for _, torn := range []string{"", "---\ncass", whole + "---\nrequest:\n  method: PO"} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cassette.Load(path); err == nil {
			t.Errorf("%q is read", torn)
		}
		if _, err := say(t, cassette.Record(serve(t, answer("x")), name, path), "{}"); err != nil {
			t.Errorf("%q: %v", torn, err)
		}
		if c := load(t, path); len(c.Exchanges) != 1 {
			t.Errorf("%q: %+v", torn, c)
		}
	}
}

func TestManyTurnsRecordAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	m := cassette.Record(serve(t, answer(strings.Repeat("long ", 2000))), name, path)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if _, err := say(t, m, `{"a":1}`); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c := load(t, path); len(c.Exchanges) != 12 {
		t.Errorf("%d exchanges", len(c.Exchanges))
	}
}

func TestAQuestionThatWasLeftLeavesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	m := cassette.Record(serve(t, answer("some text")), name, path)
	for range m.Ask(t.Context(), model.Request{Instructions: "{}"}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	m = cassette.Record(serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server sees the client go only behind the body
		cancel()
		<-r.Context().Done()
	}), name, path)
	for _, err := range m.Ask(ctx, model.Request{Instructions: "{}"}) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if c := load(t, path); len(c.Exchanges) != 0 {
		t.Errorf("%+v", c.Exchanges)
	}
}

func TestABrokenConnectionIsKeptAsSuch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	m := cassette.Record(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}), name, path)
	var e *model.Error
	if _, err := say(t, m, "{}"); !errors.As(err, &e) || e.Category != model.Network {
		t.Fatal(err)
	}
	x := load(t, path).Exchanges[0]
	if string(x.Response.Body) != "half" || x.Response.Error == "" {
		t.Errorf("%+v", x.Response)
	}
}

type silent struct{}

func (silent) Ask(ctx context.Context, _ model.Request) iter.Seq2[model.Part, error] {
	return model.Stream(ctx, func(_ context.Context, give func(model.Part) bool) error {
		give(model.Part{Done: &model.Done{}})
		return nil
	})
}

func TestAModelWithoutTrafficCannotBeRecorded(t *testing.T) {
	t.Parallel()
	m := cassette.Record(silent{}, name, filepath.Join(t.TempDir(), "c.yaml"))
	if _, err := say(t, m, ""); fault.From(err).Reason != "NOTHING_TO_RECORD" {
		t.Error(err)
	}
}

// A server may write any character of what it repeats as an escape.
func TestAnEscapedSecretIsTakenOut(t *testing.T) {
	t.Parallel()
	var escaped strings.Builder
	for i, r := range sentinel {
		if i%2 == 0 {
			fmt.Fprintf(&escaped, `\u%04X`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	for _, status := range []int{200, 400} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		m := cassette.Record(serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":"your key is %s, and \"that\" is no escape"}}`, escaped.String())
		}), name, path)
		_, _ = say(t, m, `{}`)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(escaped.String())) || !bytes.Contains(data, []byte("[secret], and")) || !bytes.Contains(data, []byte(`\"that\"`)) {
			t.Errorf("status %d: the cassette holds\n%s", status, data)
		}
	}
}

// What a base URL has in front of the version may be somebody's token.
func TestAPathIsKeptFromItsVersionOn(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/tok-123456/v1/chat/completions": "/v1/chat/completions", "/v1/messages": "/v1/messages", "/gw/tok/v1beta/models/m:stream?alt=sse": "/v1beta/models/m:stream?alt=sse",
		"/tok-123456/messages": "/messages", "/": "/",
	} {
		u, err := url.Parse("http://host" + path)
		if err != nil {
			t.Fatal(err)
		}
		if got := cassette.Address(u); got != want {
			t.Errorf("%s is kept as %s, want %s", path, got, want)
		}
	}
}
