package enginetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

func testUnavailableBeforeStart(t *testing.T, f *fixture) {
	e := f.open(t, timing)
	if id := e.ID(); (id == "") != f.can.Elsewhere {
		t.Errorf("before it starts the engine has the id %q", id)
	}
	if err := e.Wake(t.Context(), "a", 1); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Wake before Start: %v; want ErrUnavailable", err)
	}
	if err := e.Health(t.Context()); err == nil {
		t.Error("the engine says that it works before it starts")
	}
	if err := e.Stop(t.Context()); err != nil {
		t.Errorf("Stop of an engine that never started: %v", err)
	}
}

func testUnavailableAfterStop(t *testing.T, f *fixture) {
	l := newLedger()
	e := f.start(t, l)
	stop(t, e)
	if err := e.Wake(t.Context(), "a", 1); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Wake after Stop: %v; want ErrUnavailable", err)
	}
	if err := e.Health(t.Context()); err == nil {
		t.Error("the engine says that it works after it stopped")
	}
	stop(t, e) // a second time is harmless
}

func testStopCancelsAndWaits(t *testing.T, f *fixture) {
	l := newLedger()
	l.onRun = func(ctx context.Context, _ engine.Attempt, _ int) error {
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), engine.ErrStopping) {
			t.Errorf("the attempt ended by %v; want ErrStopping", context.Cause(ctx))
		}
		return context.Cause(ctx)
	}
	e := f.start(t, l)
	for _, session := range []string{"a", "b", "c"} {
		wake(t, e, l, session)
		l.await(t, session, "it runs", func(s state) bool { return s.Running == 1 })
	}
	stop(t, e)
	for _, session := range []string{"a", "b", "c"} {
		s, _ := l.see(session)
		if s.Running != 0 || s.Runs != 1 {
			t.Errorf("session %s after Stop: %+v; want one run, ended", session, s)
		}
	}
}

func testStopGivesUpWithItsContext(t *testing.T, f *fixture) {
	l := newLedger()
	resume := make(chan struct{})
	l.onRun = func(_ context.Context, a engine.Attempt, _ int) error {
		<-resume // deaf to its context
		l.settle(a.Session)
		return nil
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	l.await(t, "a", "it runs", func(s state) bool { return s.Running == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := e.Stop(ctx); err == nil {
		t.Error("Stop answered nil while an attempt ran")
	}
	close(resume)
	l.await(t, "a", "the run ends", func(s state) bool { return s.Running == 0 })
}

func stop(t *testing.T, e engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		t.Errorf("Stop: %v", err)
	}
}
