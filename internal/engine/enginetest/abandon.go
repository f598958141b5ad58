package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

func testAbandonUnknown(t *testing.T, f *fixture) {
	l := newLedger()
	e := f.start(t, l)
	wake(t, e, l, "a")
	s := l.awaitDone(t, "a")
	refs := []engine.ActivityRef{
		{},
		{Workflow: "session/none", Run: "4cf1d2ac-5d4e-4a0c-b1f3-1f6f2f1e7d10", Activity: "7"},
		{Workflow: "session/none", Run: "not a run", Activity: "7"},
		s.Attempts[0].Activity, // known, ended
	}
	if err := e.Abandon(t.Context(), refs); err != nil {
		t.Errorf("Abandon: %v", err)
	}
	if err := e.Abandon(t.Context(), nil); err != nil {
		t.Errorf("Abandon of nothing: %v", err)
	}
}

// testAbandonRunning has an attempt that never reports: only Abandon can make
// its session go on, since the heartbeat timeout outlasts the test.
func testAbandonRunning(t *testing.T, f *fixture) {
	l := newLedger()
	l.onRun = func(ctx context.Context, a engine.Attempt, n int) error {
		if n == 1 {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		l.settle(a.Session)
		return nil
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	s := l.await(t, "a", "it runs", func(s state) bool { return s.Running == 1 })
	if err := e.Abandon(t.Context(), []engine.ActivityRef{s.Attempts[0].Activity}); err != nil {
		t.Fatalf("Abandon: %v", err)
	}
	if s := l.awaitDone(t, "a"); s.Runs != 2 || s.MostAtOnce != 1 {
		t.Errorf("%d runs, %d at once; want 2 and 1", s.Runs, s.MostAtOnce)
	}
}

// testKilledEngineContinues kills an engine in mid-run. The next one over the same
// files goes on with the session when it is told that the attempt is dead; nobody
// wakes it.
func testKilledEngineContinues(t *testing.T, f *fixture) {
	l := newLedger()
	l.onRun = func(ctx context.Context, _ engine.Attempt, _ int) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	first := f.start(t, l)
	wake(t, first, l, "a")
	s := l.await(t, "a", "it runs", func(s state) bool { return s.Running == 1 })
	second := f.can.Kill(t, first, timing)
	after := f.survive(l)
	f.startOn(t, second, after)
	if second.ID() != first.ID() {
		t.Errorf("the engine's id went from %s to %s over the same files", first.ID(), second.ID())
	}
	began := time.Now()
	if err := second.Abandon(t.Context(), []engine.ActivityRef{s.Attempts[0].Activity}); err != nil {
		t.Fatalf("Abandon: %v", err)
	}
	if s := after.awaitDone(t, "a"); s.Runs != 1 {
		t.Errorf("%d runs after the crash; want 1", s.Runs)
	}
	t.Logf("went on %v after Abandon", time.Since(began).Round(time.Millisecond))
}

// testKilledEngineKeepsItsTimers kills an engine while a session waits for a
// time; the next one peeks then without being told.
func testKilledEngineKeepsItsTimers(t *testing.T, f *fixture) {
	l := newLedger()
	until := time.Now().Add(2 * time.Second)
	l.onPeek = func(context.Context, string, int) (engine.Decision, error) {
		return engine.Decision{Verb: engine.WaitUntil, Until: until, Revision: 1}, nil
	}
	first := f.start(t, l)
	wake(t, first, l, "a")
	l.await(t, "a", "the first peek", func(s state) bool { return s.PeeksDone == 1 })
	second := f.can.Kill(t, first, timing)
	after := f.survive(l)
	f.startOn(t, second, after)
	after.awaitDone(t, "a")
}

// survive is the ledger after a crash: the same rows, a new record, no hooks.
func (f *fixture) survive(l *ledger) *ledger {
	next := newLedger()
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, s := range l.sessions {
		next.sessions[name] = &state{Revision: s.Revision, Waiting: s.Waiting}
	}
	return next
}
