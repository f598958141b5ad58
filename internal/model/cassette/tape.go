package cassette

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/model"
)

// tape listens to the requests of one question.
type tape struct {
	number    int
	workspace string

	mu  sync.Mutex
	all []*heard
}

// heard is one exchange, as far as it has come.
type heard struct {
	Exchange
	secrets []string
	body    bytes.Buffer
	tooLong bool
}

func newTape(req model.Request) *tape {
	_, count, _ := strings.Cut(req.RequestID, "/")
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		n = 0
	}
	return &tape{number: n, workspace: Workspace(req.Instructions)}
}

// wrap listens to a transport.
func (t *tape) wrap(next http.RoundTripper) http.RoundTripper {
	return listener{t, next}
}

type listener struct {
	tape *tape
	next http.RoundTripper
}

// RoundTrip sends a request and keeps what it says and what comes back.
func (l listener) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil && req.Body != http.NoBody {
		var err error
		if sent, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		if err = req.Body.Close(); err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	h := &heard{secrets: secrets(req.Header, req.URL), Exchange: Exchange{
		Number: l.tape.number, Workspace: l.tape.workspace,
		Request: Request{Method: req.Method, Path: Address(req.URL), Type: req.Header.Get("Content-Type"), Body: readable(sent)},
	}}
	l.tape.mu.Lock()
	l.tape.all = append(l.tape.all, h)
	l.tape.mu.Unlock()
	res, err := l.next.RoundTrip(req)
	l.tape.mu.Lock()
	defer l.tape.mu.Unlock()
	if err != nil {
		h.Response.Error = said(err)
		return nil, err
	}
	h.Response.Status, h.Response.Header = res.StatusCode, kept(res.Header)
	res.Body = &ear{tape: l.tape, heard: h, from: res.Body}
	return res, nil
}

// readable is JSON in its canonical form, or the bytes themselves.
func readable(body []byte) []byte {
	if canonical, ok := Canonical(body); ok {
		return canonical
	}
	return body
}

func kept(all http.Header) http.Header {
	some := http.Header{}
	for _, name := range keptHeaders {
		if v := all.Get(name); v != "" {
			some.Set(name, v)
		}
	}
	return some
}

// said is an error of a connection without the addresses of its ends.
func said(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// ear keeps the bytes of a body that somebody reads.
type ear struct {
	tape  *tape
	heard *heard
	from  io.ReadCloser
}

// Read reads.
func (e *ear) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	e.tape.mu.Lock()
	defer e.tape.mu.Unlock()
	if e.heard.body.Len()+n > largest/2 {
		e.heard.tooLong = true
	} else {
		e.heard.body.Write(p[:n])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		e.heard.Response.Error = said(err)
	}
	return n, err
}

// Close closes.
func (e *ear) Close() error { return e.from.Close() }

// exchanges are what was heard, without secrets. An answer that is whole was not cut
// off, whatever became of the connection behind it.
func (t *tape) exchanges(whole bool) ([]*heard, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, h := range t.all {
		if h.tooLong {
			return nil, errTooLong
		}
		h.Response.Body = slices.Clone(h.body.Bytes())
		if whole && i == len(t.all)-1 {
			h.Response.Error = ""
		}
		scrub(&h.Exchange, h.secrets)
		h.Request.Body = readable(h.Request.Body)
	}
	return t.all, nil
}

var errTooLong = errors.New("a response is too long for a cassette")
