package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/test/built"
)

// frame is one server-sent event.
type frame struct{ id, event, data string }

// streamTime bounds every wait for a frame.
const streamTime = 5 * time.Minute

// stream is an open stream of server-sent events.
type stream struct {
	body  io.ReadCloser
	lines *bufio.Reader
	stop  context.CancelFunc
}

// open begins a stream that must be accepted. query may be empty.
func open(t *testing.T, s *built.Server, session, query, lastID string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), streamTime)
	res, err := request(ctx, s, session, query, lastID)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		data, _ := io.ReadAll(res.Body)
		cancel()
		t.Fatalf("the stream was refused: %d %s", res.StatusCode, data)
	}
	st := &stream{body: res.Body, lines: bufio.NewReader(res.Body), stop: cancel}
	t.Cleanup(st.close)
	return st
}

func request(ctx context.Context, s *built.Server, session, query, lastID string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/sessions/"+session+"/events/stream?"+query, nil)
	if err != nil {
		return nil, err
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	return s.HTTP().Do(req)
}

func (st *stream) close() {
	st.stop()
	_ = st.body.Close()
}

// next reads one frame; comments are passed over. ok is false when the stream ended.
func (st *stream) next() (f frame, ok bool) {
	for {
		line, err := st.lines.ReadString('\n')
		if err != nil {
			return f, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && f != frame{}:
			return f, true
		case name == "id":
			f.id = value
		case name == "event":
			f.event = value
		case name == "data":
			f.data += value
		}
	}
}

// until reads frames up to the n-th of a type.
func (st *stream) until(t *testing.T, event string, n int) []frame {
	t.Helper()
	var all []frame
	for n > 0 {
		f, ok := st.next()
		if !ok {
			t.Fatalf("the stream ended %d %s too early, after %d frames", n, event, len(all))
		}
		if all = append(all, f); f.event == event {
			n--
		}
	}
	return all
}

// durable are the frames with an id.
func durable(all []frame) []frame {
	var kept []frame
	for _, f := range all {
		if f.id != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// refused begins a stream that must not be accepted.
func refused(t *testing.T, s *built.Server, session, query, lastID string) (status int, reason string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), streamTime)
	defer cancel()
	res, err := request(ctx, s, session, query, lastID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusOK {
		return res.StatusCode, ""
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	reason, _, _ = answer{res.StatusCode, res.Header, string(data)}.failure(t).info()
	return res.StatusCode, reason
}

func types(names ...string) string { return url.Values{"types": names}.Encode() }
