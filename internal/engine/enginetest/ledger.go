package enginetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

// ledger is the truth of a test: work that waits in sessions, and a record of
// what the engine did about it. By default a peek answers Run while work waits
// and a run takes all of it. The hooks replace that; set them before Start.
type ledger struct {
	onPeek      func(ctx context.Context, session string, n int) (engine.Decision, error) // n counts the session's peeks from 1
	onRun       func(ctx context.Context, a engine.Attempt, n int) error                  // n counts the session's runs from 1
	onInterrupt func(ctx context.Context, session, execution string, n int) error

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	sessions map[string]*state
	engines  []string // the ids that Connected told, in order
}

// Connected records the engine's word.
func (l *ledger) Connected(_ context.Context, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.engines = append(l.engines, id)
	close(l.changed)
	l.changed = make(chan struct{})
}

// awaitEngine waits until the engine was reached n times and answers the newest id.
func (l *ledger) awaitEngine(t *testing.T, n int) string {
	t.Helper()
	end := time.After(patience)
	for {
		l.mu.Lock()
		ids, changed := l.engines, l.changed
		l.mu.Unlock()
		if len(ids) >= n {
			return ids[len(ids)-1]
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("the engine was reached %d times; waited in vain for %d", len(ids), n)
		}
	}
}

// state is one session's row and its record.
type state struct {
	Revision   int64 // committed
	Waiting    int   // work that no run took
	PeekedAt   int64 // the revision that the newest peek began with
	Peeks      int
	PeeksDone  int
	Runs       int
	RunsDone   int
	Running    int
	MostAtOnce int // the most runs that were in progress at one time
	Interrupts int
	Attempts   []engine.Attempt
}

func newLedger() *ledger {
	return &ledger{changed: make(chan struct{}), sessions: map[string]*state{}}
}

// change edits the session under the lock and tells who awaits.
func (l *ledger) change(session string, edit func(s *state)) state {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[session]
	if s == nil {
		s = &state{}
		l.sessions[session] = s
	}
	edit(s)
	close(l.changed)
	l.changed = make(chan struct{})
	return *s
}

func (l *ledger) commit(session string) (revision int64) {
	return l.change(session, func(s *state) {
		s.Revision++
		s.Waiting++
	}).Revision
}

func (l *ledger) see(session string) (state, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[session]; s != nil {
		return *s, l.changed
	}
	return state{}, l.changed
}

// await waits until the session satisfies ok and answers it.
func (l *ledger) await(t *testing.T, session, what string, ok func(s state) bool) state {
	t.Helper()
	end := time.After(patience)
	for {
		s, changed := l.see(session)
		if ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("session %s: waited in vain for: %s; it is %+v", session, what, s)
		}
	}
}

// awaitDone waits until no work of the session waits or runs and the newest
// revision was peeked at.
func (l *ledger) awaitDone(t *testing.T, session string) state {
	t.Helper()
	return l.await(t, session, "all work done and the newest revision peeked at", func(s state) bool {
		return s.Revision > 0 && s.Waiting == 0 && s.Running == 0 && s.PeekedAt == s.Revision && s.Peeks == s.PeeksDone
	})
}

func (l *ledger) Peek(ctx context.Context, session string) (engine.Decision, error) {
	s := l.change(session, func(s *state) {
		s.Peeks++
		s.PeekedAt = s.Revision
	})
	defer l.change(session, func(s *state) { s.PeeksDone++ })
	if l.onPeek != nil {
		return l.onPeek(ctx, session, s.Peeks)
	}
	return decide(session, s), nil
}

// decide is what a peek answers when no hook replaces it.
func decide(session string, s state) engine.Decision {
	d := engine.Decision{Verb: engine.Idle, Revision: s.Revision}
	if s.Waiting > 0 {
		d.Verb = engine.Run
		d.Execution = "exe_" + session
		d.Attempt = fmt.Sprintf("att_%s_%d", session, s.Peeks)
	}
	return d
}

// now is decide for the session as it is.
func (l *ledger) now(session string) (engine.Decision, error) {
	s, _ := l.see(session)
	return decide(session, s), nil
}

func (l *ledger) Run(ctx context.Context, a engine.Attempt) error {
	s := l.change(a.Session, func(s *state) {
		s.Runs++
		s.Running++
		s.MostAtOnce = max(s.MostAtOnce, s.Running)
		s.Attempts = append(s.Attempts, a)
	})
	defer l.change(a.Session, func(s *state) { s.Running--; s.RunsDone++ })
	if l.onRun != nil {
		return l.onRun(ctx, a, s.Runs)
	}
	l.settle(a.Session)
	return nil
}

// settle takes all work that waits.
func (l *ledger) settle(session string) {
	l.change(session, func(s *state) { s.Waiting = 0 })
}

func (l *ledger) Interrupt(ctx context.Context, session, execution string) error {
	s := l.change(session, func(s *state) { s.Interrupts++ })
	if l.onInterrupt != nil {
		return l.onInterrupt(ctx, session, execution, s.Interrupts)
	}
	l.settle(session)
	return nil
}
