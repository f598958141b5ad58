package modeltest

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/model/cassette"
	"github.com/cadre-dev/cadre/internal/model/replay"
)

// recorded is the name that recordings are made under.
func (w Wire) recorded() string { return w.Provider + "/" + ModelID }

// closed opens a model whose host must not be asked.
func (w Wire) closed(t *testing.T) model.Model {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request left, and a cassette should have answered it")
	}))
	t.Cleanup(h.Close)
	return w.Open(t, h.URL)
}

// testReplaySession: a session that is recorded and played says the same twice, and
// the cassette holds the bytes that the server sent.
func testReplaySession(t *testing.T, w Wire) {
	m, _ := w.serve(t, func(n int) reply { return reply{pieces: pieces(w.Answer(session[n]))} })
	path := filepath.Join(t.TempDir(), "session.yaml")
	first := play(t, w, cassette.Record(m, w.recorded(), path), w.Provider)
	c := load(t, path)
	if len(c.Exchanges) != len(session) {
		t.Fatalf("the cassette has %d exchanges, want %d", len(c.Exchanges), len(session))
	}
	for i, x := range c.Exchanges {
		sent := bytes.Join(pieces(w.Answer(session[i])), nil)
		if !bytes.HasPrefix(sent, x.Response.Body) || len(x.Response.Body) == 0 {
			t.Errorf("exchange %d holds\n%q\nand the server sent\n%q", i+1, x.Response.Body, sent)
		}
	}
	second := play(t, w, replay.Play(c, w.closed(t), w.Provider), "replay")
	for i := range first {
		first[i].same(t, second[i])
	}
	kept, err := cassette.Load(path)
	if err != nil || kept.Sum != c.Sum {
		t.Errorf("playing changed the cassette: %v", err)
	}
}

// play asks what the session asks; provider is the one that answers are kept under.
func play(t *testing.T, w Wire, m model.Model, provider string) []said {
	t.Helper()
	req := rich(w.Provider)
	req.History = []*messagev1.Item{user("What is here?")}
	var all []said
	for range session {
		s := ask(t.Context(), t, m, req).whole(t)
		req.History = slices.Concat(req.History, s.items(provider))
		all = append(all, s)
	}
	return all
}

func load(t *testing.T, path string) *cassette.Cassette {
	t.Helper()
	c, err := cassette.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// testReplayFaults: what goes wrong goes wrong in the same way when it is played.
func testReplayFaults(t *testing.T, w Wire) {
	for _, f := range Faults(w) {
		if f.skip != "" || w.Skip["Fault/"+f.Name] != "" {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			m, _ := w.serve(t, func(int) reply { return f.play })
			path := filepath.Join(t.TempDir(), "fault.yaml")
			first := ask(t.Context(), t, cassette.Record(m, w.recorded(), path), request())
			second := ask(t.Context(), t, replay.Play(load(t, path), w.closed(t), w.Provider), request())
			first.same(t, second)
		})
	}
}

// same compares two answers, part by part. What a broken connection is called
// depends on the system, and a wait on the time.
func (s said) same(t *testing.T, other said) {
	t.Helper()
	if !slices.Equal(s.texts, other.texts) {
		t.Errorf("the texts are %q, and %q when played", s.texts, other.texts)
	}
	if !slices.EqualFunc(s.reasoning, other.reasoning, func(a, b *messagev1.Reasoning) bool { return proto.Equal(a, b) }) {
		t.Errorf("the thoughts are %v, and %v when played", s.reasoning, other.reasoning)
	}
	if !slices.EqualFunc(s.calls, other.calls, func(a, b *messagev1.ToolCall) bool { return proto.Equal(a, b) }) {
		t.Errorf("the calls are %v, and %v when played", s.calls, other.calls)
	}
	if (s.done == nil) != (other.done == nil) {
		t.Fatalf("the end is %v, %v, and %v, %v when played", s.done, s.err, other.done, other.err)
	}
	if d, o := s.done, other.done; d != nil && (d.FinishReason != o.FinishReason || d.ResponseID != o.ResponseID || !proto.Equal(d.Usage, o.Usage)) {
		t.Errorf("the end is %v, and %v when played", d, o)
	}
	var a, b *model.Error
	if errors.As(s.err, &a) != errors.As(other.err, &b) {
		t.Fatalf("the error is %v, and %v when played", s.err, other.err)
	}
	if a != nil {
		x, y := *a, *b
		x.RetryAfter, y.RetryAfter = 0, 0
		if a.Category == model.Network || a.Status/100 == 3 { // where a redirect leads is not kept
			x.Message, y.Message = "", ""
		}
		if !proto.Equal(x.Usage, y.Usage) {
			t.Errorf("the error has the usage %v, and %v when played", x.Usage, y.Usage)
		}
		x.Usage, y.Usage = nil, nil
		if x != y {
			t.Errorf("the error is %+v, and %+v when played", x, y)
		}
	}
}
