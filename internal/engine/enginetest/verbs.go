package enginetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

var errOnPurpose = errors.New("failed on purpose")

func testWaitUntilFires(t *testing.T, f *fixture) {
	l := newLedger()
	until := time.Now().Add(700 * time.Millisecond)
	l.onPeek = func(_ context.Context, session string, _ int) (engine.Decision, error) {
		if time.Now().Before(until) {
			return engine.Decision{Verb: engine.WaitUntil, Until: until, Revision: 1}, nil
		}
		return l.now(session)
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	if s := l.awaitDone(t, "a"); s.Runs != 1 {
		t.Errorf("%d runs; want 1", s.Runs)
	}
}

func testWaitUntilIsCutShort(t *testing.T, f *fixture) {
	l := newLedger()
	l.onPeek = func(_ context.Context, session string, n int) (engine.Decision, error) {
		if n == 1 {
			return engine.Decision{Verb: engine.WaitUntil, Until: time.Now().Add(24 * time.Hour), Revision: 1}, nil
		}
		return l.now(session)
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	l.await(t, "a", "the first peek", func(s state) bool { return s.PeeksDone == 1 })
	wake(t, e, l, "a")
	l.awaitDone(t, "a")
}

func testInterruptIsCalled(t *testing.T, f *fixture) {
	l := newLedger()
	l.onPeek = func(_ context.Context, session string, _ int) (engine.Decision, error) {
		d, err := l.now(session)
		if d.Verb == engine.Run {
			d = engine.Decision{Verb: engine.Interrupt, Execution: "exe_1", Revision: d.Revision}
		}
		return d, err
	}
	l.onInterrupt = func(_ context.Context, session, execution string, _ int) error {
		if session != "a" || execution != "exe_1" {
			t.Errorf("Interrupt(%q, %q); want a and exe_1", session, execution)
		}
		l.settle(session)
		return nil
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	if s := l.awaitDone(t, "a"); s.Interrupts != 1 || s.Runs != 0 {
		t.Errorf("%d interruptions and %d runs; want 1 and 0", s.Interrupts, s.Runs)
	}
}

func testInterruptIsRetried(t *testing.T, f *fixture) {
	l := newLedger()
	l.onPeek = func(_ context.Context, session string, _ int) (engine.Decision, error) {
		d, err := l.now(session)
		if d.Verb == engine.Run {
			d.Verb = engine.Interrupt
		}
		return d, err
	}
	l.onInterrupt = func(_ context.Context, session, _ string, n int) error {
		switch n {
		case 1:
			return errOnPurpose
		case 2:
			panic("on purpose")
		}
		l.settle(session)
		return nil
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	if s := l.awaitDone(t, "a"); s.Interrupts != 3 {
		t.Errorf("%d interruptions; want 3", s.Interrupts)
	}
}

func testPeekIsRetried(t *testing.T, f *fixture) {
	const failures = 5
	l := newLedger()
	l.onPeek = func(_ context.Context, session string, n int) (engine.Decision, error) {
		if n <= failures {
			return engine.Decision{}, errOnPurpose
		}
		return l.now(session)
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	if s := l.awaitDone(t, "a"); s.Runs != 1 {
		t.Errorf("%d runs; want 1", s.Runs)
	}
}

func testPeekPanicIsRetried(t *testing.T, f *fixture) {
	l := newLedger()
	l.onPeek = func(_ context.Context, session string, n int) (engine.Decision, error) {
		if n == 1 {
			panic("on purpose")
		}
		return l.now(session)
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	l.awaitDone(t, "a")
}

func testRunErrorPeeksAgain(t *testing.T, f *fixture) {
	l := newLedger()
	l.onRun = func(_ context.Context, a engine.Attempt, n int) error {
		if n <= 3 {
			return errOnPurpose
		}
		l.settle(a.Session)
		return nil
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	if s := l.awaitDone(t, "a"); s.Runs != 4 {
		t.Errorf("%d runs; want 4", s.Runs)
	}
}

func testRunPanicPeeksAgain(t *testing.T, f *fixture) {
	l := newLedger()
	l.onRun = func(_ context.Context, a engine.Attempt, n int) error {
		if n == 1 {
			panic("on purpose")
		}
		l.settle(a.Session)
		return nil
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	if s := l.awaitDone(t, "a"); s.Runs != 2 {
		t.Errorf("%d runs; want 2", s.Runs)
	}
}

func testAttemptIsNamed(t *testing.T, f *fixture) {
	l := newLedger()
	e := f.start(t, l)
	wake(t, e, l, "a")
	l.awaitDone(t, "a")
	wake(t, e, l, "a")
	s := l.awaitDone(t, "a")
	for n, a := range s.Attempts {
		if a.Session != "a" || a.Execution != "exe_a" || a.ID == "" {
			t.Errorf("attempt %d is %+v", n, a)
		}
		if a.Activity.Workflow == "" || a.Activity.Run == "" || a.Activity.Activity == "" {
			t.Errorf("attempt %d cannot be found again: %+v", n, a.Activity)
		}
		a.Heartbeat() // harmless after the end
	}
	if len(s.Attempts) != 2 || s.Attempts[0].Activity == s.Attempts[1].Activity || s.Attempts[0].ID == s.Attempts[1].ID {
		t.Errorf("attempts are not told apart: %+v", s.Attempts)
	}
}
