package turn

import (
	"context"
	"errors"
	"sync"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Signal is one raw event of a model's stream, as the gate sees it.
type Signal struct {
	Source string // only `model` counts
	Type   string // only `response_done` settles
	// Response identifies the answer; nil when the event carries none.
	Response *Response
}

// Response identifies one answer of the model. ID may be "" and may repeat
// between streams.
type Response struct{ ID string }

// Gate admits model requests one at a time: the next one waits until the single
// consumer has settled the answer before it, and then asks for itself. Safe for
// concurrent use. The first failure wins and answers every later call.
type Gate struct {
	admit func(context.Context) error

	mu      sync.Mutex
	latest  *Receipt
	pending map[*Receipt]struct{}
	byEvent map[*Signal]*Receipt
	byID    map[string]*Receipt
	failure error
	halted  chan struct{} // closed by the first failure
	release func() bool   // takes the abort listener off
}

// Receipt stands for one answer that was reported and waits to be settled.
type Receipt struct {
	id   string
	done chan struct{} // closed when it is settled or the gate failed
}

// Done is closed when the answer is settled, or will never be.
func (r *Receipt) Done() <-chan struct{} { return r.done }

var (
	errAborted   = fault.New(fault.Canceled, "CANCELLED", "the model stream was cancelled")
	errUnsettled = fault.New(fault.Internal, "RESPONSE_UNSETTLED", "the model stream ended with a response left unsettled")
)

// NewGate makes a gate. When abort ends, the gate fails with its cause; an
// abort that has already ended fails it from the start. admit is asked once
// before every request.
func NewGate(abort context.Context, admit func(context.Context) error) *Gate {
	g := &Gate{
		admit: admit, pending: map[*Receipt]struct{}{}, byEvent: map[*Signal]*Receipt{}, byID: map[string]*Receipt{},
		halted: make(chan struct{}),
	}
	aborted := func() { g.Fail(abortCause(abort)) }
	if abort.Err() != nil {
		aborted()
		g.release = func() bool { return true }
		return g
	}
	g.release = context.AfterFunc(abort, aborted)
	return g
}

func abortCause(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errAborted
}

// Before waits for the latest answer to be settled and then asks to be
// admitted. A failure while it waits, or while admit runs, is answered at once.
func (g *Gate) Before(ctx context.Context) error {
	if err := g.wait(ctx); err != nil {
		return err
	}
	verdict := make(chan error, 1)
	go func() { verdict <- g.admit(ctx) }()
	select {
	case <-g.halted:
		return g.failed()
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-verdict:
		if f := g.failed(); f != nil {
			return f
		}
		return err
	}
}

func (g *Gate) wait(ctx context.Context) error {
	g.mu.Lock()
	latest, failure := g.latest, g.failure
	g.mu.Unlock()
	if failure != nil || latest == nil {
		return failure
	}
	select {
	case <-g.halted:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-latest.done:
	}
	return g.failed()
}

func (g *Gate) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

// Responded reports an answer. The same event, a copy with the same response
// id, and a copy without an id while one answer is pending, give the same receipt.
func (g *Gate) Responded(s *Signal) (*Receipt, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure != nil {
		return nil, g.failure
	}
	if r := g.find(s); r != nil {
		g.byEvent[s] = r
		return r, nil
	}
	r := &Receipt{done: make(chan struct{})}
	g.byEvent[s] = r
	if id := s.responseID(); id != "" {
		r.id = id
		g.byID[id] = r
	}
	g.pending[r] = struct{}{}
	g.latest = r
	return r, nil
}

// Settle books an answer as done. Events of another source or type, without a
// response, or of an unknown one, change nothing.
func (g *Gate) Settle(s *Signal) {
	if s == nil || s.Source != "model" || s.Type != "response_done" || s.Response == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.find(s)
	if r == nil {
		return
	}
	if _, open := g.pending[r]; open {
		delete(g.pending, r)
		close(r.done)
	}
}

// find looks an answer up by its event, its id, or as the only one pending.
func (g *Gate) find(s *Signal) *Receipt {
	if r := g.byEvent[s]; r != nil {
		return r
	}
	if id := s.responseID(); id != "" {
		return g.byID[id]
	}
	if len(g.pending) == 1 {
		for r := range g.pending {
			return r
		}
	}
	return nil
}

func (s *Signal) responseID() string {
	if s == nil || s.Response == nil {
		return ""
	}
	return s.Response.ID
}

// Fail halts the gate with err, unless it has failed before.
func (g *Gate) Fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure != nil {
		return
	}
	g.failure = err
	close(g.halted)
	for r := range g.pending {
		close(r.done)
	}
	clear(g.pending)
}

// Close ends the gate. When an answer is still pending it fails the gate, and
// answers that failure.
func (g *Gate) Close() error {
	g.release()
	g.mu.Lock()
	open := len(g.pending)
	g.mu.Unlock()
	if open > 0 {
		g.Fail(errUnsettled)
		return errUnsettled
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.byID)
	clear(g.byEvent)
	return nil
}
