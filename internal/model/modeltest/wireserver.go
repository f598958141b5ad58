package modeltest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// reply is what the server does with one request.
type reply struct {
	status  int // 0 is 200 and a stream
	headers map[string]string
	pieces  [][]byte // each written and flushed by itself
	end     ending
}

// ending is how a reply stops.
type ending int

const (
	endWell   ending = iota // as HTTP wants it
	endCut                  // the connection breaks
	endHold                 // nothing more comes, until the client goes
	endBeside               // comments come, until the client goes
)

// server speaks a wire and keeps what it was asked.
type server struct {
	t      *testing.T
	w      Wire
	reply  func(n int) reply // to a request whose history holds n answers
	beside chan struct{}     // gets one when comments are on their way
	gone   chan struct{}     // gets one when a client went in the middle of a reply

	connections atomic.Int32 // that were opened

	mu     sync.Mutex
	asked  []Question
	bodies [][]byte
}

// serve starts a server and opens a model that talks to it. When the test ends it
// waits for open connections, so that a leak shows.
func (w Wire) serve(t *testing.T, r func(n int) reply) (model.Model, *server) {
	t.Helper()
	s := &server{t: t, w: w, reply: r, beside: make(chan struct{}, 64), gone: make(chan struct{}, 64)}
	h := httptest.NewUnstartedServer(s)
	h.Config.ConnState = func(_ net.Conn, now http.ConnState) {
		if now == http.StateNew {
			s.connections.Add(1)
		}
	}
	h.Start()
	t.Cleanup(h.Close)
	return w.Open(t, h.URL), s
}

// ServeHTTP judges a request and plays the reply to it.
func (s *server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went
	}
	q, err := s.w.Read(r, data)
	if err == nil {
		err = judge(q)
	}
	if err != nil {
		s.t.Errorf("the request breaks the wire's rules: %v", err)
		s.beside <- struct{}{} // who waits for this request shall see that it failed
		s.gone <- struct{}{}
		http.Error(rw, "the test's server refuses this request", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked, s.bodies = append(s.asked, q), append(s.bodies, data)
	s.mu.Unlock()
	s.play(rw, r, s.reply(answers(q.History)))
}

// questions are what was asked so far.
func (s *server) questions() []Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// written are the bodies of the requests so far.
func (s *server) written() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

func (s *server) play(rw http.ResponseWriter, r *http.Request, p reply) {
	if p.end == endCut && len(p.pieces) == 0 {
		panic(http.ErrAbortHandler) // not even a status
	}
	rw.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for name, value := range p.headers {
		rw.Header().Set(name, value)
	}
	if p.status != 0 {
		rw.WriteHeader(p.status)
	}
	flush := http.NewResponseController(rw)
	_ = flush.Flush()
	for _, piece := range p.pieces {
		_, err := rw.Write(piece)
		if err == nil {
			err = flush.Flush()
		}
		if err != nil {
			break
		}
	}
	switch p.end {
	case endCut:
		panic(http.ErrAbortHandler)
	case endHold:
		<-r.Context().Done()
		s.gone <- struct{}{}
	case endBeside:
		s.comments(rw, r)
	}
}

// comments writes what keeps a connection alive and says nothing.
func (s *server) comments(rw http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(rw)
	for n := 0; r.Context().Err() == nil; n++ {
		_, err := rw.Write(s.w.alive())
		if err == nil {
			err = flush.Flush()
		}
		if err != nil {
			break
		}
		if n == 3 {
			s.beside <- struct{}{}
			<-r.Context().Done()
		}
	}
	s.gone <- struct{}{}
}

// judge checks what holds on every wire: the model, the last item, and that each
// call has its result, in order, before anything else comes.
func judge(q Question) error {
	if q.Model != ModelID {
		return fmt.Errorf("the model is %q, want %q", q.Model, ModelID)
	}
	if len(q.History) == 0 {
		return fmt.Errorf("there is no message")
	}
	var open []string
	for i, item := range q.History {
		result := item.GetToolResult()
		switch {
		case result != nil:
			at := slices.Index(open, result.GetCallId())
			if at < 0 {
				return fmt.Errorf("item %d is the result of %q, which is not open: %q", i, result.GetCallId(), open)
			}
			open = slices.Delete(open, at, at+1)
		case len(open) > 0:
			return fmt.Errorf("item %d comes before the results of %q", i, open)
		}
		for _, p := range item.GetAssistant().GetParts() {
			if c := p.GetToolCall(); c != nil {
				open = append(open, c.GetId())
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %q have no result", open)
	}
	return nil
}

// answers counts the model's own messages.
func answers(history []*messagev1.Item) int {
	n := 0
	for _, item := range history {
		if item.GetAssistant() != nil {
			n++
		}
	}
	return n
}

// statuses by which a wire reports the categories of a scenario.
var statuses = map[model.Category]struct {
	status int
	why    Why
}{
	model.RateLimited: {429, Plain}, model.Overloaded: {529, Plain}, model.Quota: {429, Exhausted},
	model.Refused: {400, Unsafe}, model.ContextTooLong: {400, TooLong}, model.Authentication: {401, Plain},
	model.BadRequest: {400, Plain}, model.ServerError: {500, Plain},
}

// scenario plays the answers of the common suite.
func (w Wire) scenario(s Scenario) func(n int) reply {
	return func(n int) reply {
		a := s.Answers[min(n, len(s.Answers)-1)]
		switch {
		case a.Fail == nil && a.Stall:
			return reply{pieces: before(w.Answer(a), End), end: endHold}
		case a.Fail == nil:
			return reply{pieces: pieces(w.Answer(a))}
		case a.Fail.Category == model.Network && len(a.Text) == 0:
			return reply{end: endCut}
		case a.Fail.Category == model.Network:
			return reply{pieces: before(w.Answer(a), End), end: endCut}
		case a.Fail.Category == model.Malformed:
			return reply{pieces: [][]byte{[]byte("data: {\"broken\": tru\n\n")}}
		}
		p := statuses[a.Fail.Category]
		return w.refuse(p.status, p.why, map[string]string{"Retry-After": fmt.Sprint(a.Fail.RetryAfter.Seconds())})
	}
}

// refuse is a response that is an error.
func (w Wire) refuse(status int, why Why, headers map[string]string) reply {
	all := map[string]string{"Content-Type": "application/json"}
	for name, value := range headers {
		all[name] = value
	}
	return reply{status: status, headers: all, pieces: [][]byte{[]byte(w.Refuse(status, why).Body)}}
}

// pieces are the bytes of frames.
func pieces(frames []Frame) [][]byte {
	var all [][]byte
	for _, f := range frames {
		all = append(all, f.Bytes)
	}
	return all
}

// before are the bytes of the frames that come before the first of a kind.
func before(frames []Frame, kind FrameKind) [][]byte {
	at := slices.IndexFunc(frames, func(f Frame) bool { return f.Kind >= kind })
	if at < 0 {
		at = len(frames)
	}
	return pieces(frames[:at])
}
