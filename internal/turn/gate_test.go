package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cadre-dev/cadre/internal/turn"
)

// asked counts admissions.
type asked struct {
	n   int
	err error
}

func (a *asked) admit(context.Context) error {
	a.n++
	return a.err
}

func done(id string) *turn.Signal {
	return &turn.Signal{Source: "model", Type: "response_done", Response: &turn.Response{ID: id}}
}

func responded(t *testing.T, g *turn.Gate, s *turn.Signal) *turn.Receipt {
	t.Helper()
	r, err := g.Responded(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func settled(r *turn.Receipt) bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}

// T68
func TestGateAdmitsTheFirstRequestAfterAskingOnce(t *testing.T) {
	t.Parallel()
	a := &asked{}
	g := turn.NewGate(t.Context(), a.admit)
	if err := g.Before(t.Context()); err != nil || a.n != 1 {
		t.Fatalf("got %v after %d admissions, want nil after 1", err, a.n)
	}
}

// T69
func TestGateWaitsForTheAnswerBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &asked{}
		g := turn.NewGate(t.Context(), a.admit)
		s := done("r1")
		responded(t, g, s)
		passed := make(chan error, 1)
		go func() { passed <- g.Before(t.Context()) }()
		synctest.Wait()
		if len(passed) != 0 || a.n != 0 {
			t.Fatal("the next request did not wait for the answer before it")
		}
		g.Settle(s)
		if err := <-passed; err != nil || a.n != 1 {
			t.Fatalf("got %v after %d admissions, want nil after 1", err, a.n)
		}
	})
}

// T70
func TestGateAsksEveryRequestForItself(t *testing.T) {
	t.Parallel()
	refused := errors.New("the budget is used up")
	a := &asked{}
	g := turn.NewGate(t.Context(), a.admit)
	s := done("r1")
	responded(t, g, s)
	g.Settle(s)
	a.err = refused
	if err := g.Before(t.Context()); !errors.Is(err, refused) {
		t.Fatalf("got %v, want the refusal", err)
	}
}

// T71
func TestGateGivesOneReceiptPerAnswer(t *testing.T) {
	t.Parallel()
	g := turn.NewGate(t.Context(), (&asked{}).admit)
	s := done("r1")
	first := responded(t, g, s)
	if responded(t, g, s) != first {
		t.Error("the same event twice gave two receipts")
	}
	if responded(t, g, done("r1")) != first {
		t.Error("a copy with the same id gave another receipt")
	}
	if responded(t, g, done("")) != first {
		t.Error("a copy without an id, with one answer pending, gave another receipt")
	}
	if responded(t, g, done("r2")) == first {
		t.Error("another answer gave the same receipt")
	}
	third := responded(t, g, done(""))
	if third == first {
		t.Error("an answer without an id, with two pending, gave the receipt of the first")
	}
}

// T72
func TestGateSettlesByACopyOfTheEvent(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"r1", ""} {
		g := turn.NewGate(t.Context(), (&asked{}).admit)
		r := responded(t, g, done("r1"))
		g.Settle(done(id))
		if !settled(r) {
			t.Errorf("a copy with the id %q did not settle the answer", id)
		}
	}
}

// T73
func TestGateIgnoresEventsThatSettleNothing(t *testing.T) {
	t.Parallel()
	g := turn.NewGate(t.Context(), (&asked{}).admit)
	r := responded(t, g, done("r1"))
	g.Settle(nil)
	g.Settle(&turn.Signal{Source: "tool", Type: "response_done", Response: &turn.Response{ID: "r1"}})
	g.Settle(&turn.Signal{Source: "model", Type: "delta", Response: &turn.Response{ID: "r1"}})
	g.Settle(&turn.Signal{Source: "model", Type: "response_done"})
	g.Settle(done("unknown"))
	if settled(r) {
		t.Fatal("an event that settles nothing settled the answer")
	}
	g.Settle(done("r1"))
	if !settled(r) {
		t.Fatal("the right event did not settle the answer")
	}
}

// T74
func TestGateFailsWhenItIsAborted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("superseded")
		ctx, abort := context.WithCancelCause(t.Context())
		g := turn.NewGate(ctx, (&asked{}).admit)
		r := responded(t, g, done("r1"))
		abort(reason)
		synctest.Wait()
		if !settled(r) {
			t.Error("the pending answer still waits")
		}
		if err := g.Before(t.Context()); !errors.Is(err, reason) {
			t.Errorf("got %v, want the abort's reason", err)
		}
		if _, err := g.Responded(done("r2")); !errors.Is(err, reason) {
			t.Errorf("a later report got %v, want the abort's reason", err)
		}
	})
}

// T74
func TestGateTellsOfCancellationWhenTheAbortHasNoReason(t *testing.T) {
	t.Parallel()
	ctx, abort := context.WithCancel(t.Context())
	abort()
	a := &asked{}
	g := turn.NewGate(ctx, a.admit) // aborted before it was made: failed from the start
	err := g.Before(t.Context())
	if err == nil || err.Error() != "the model stream was cancelled" || a.n != 0 {
		t.Fatalf("got %v after %d admissions, want an error that tells of cancellation, unasked", err, a.n)
	}
}

// T75
func TestGateKeepsItsFirstFailure(t *testing.T) {
	t.Parallel()
	first, second := errors.New("first"), errors.New("second")
	g := turn.NewGate(t.Context(), (&asked{}).admit)
	g.Fail(first)
	g.Fail(second)
	if err := g.Before(t.Context()); !errors.Is(err, first) {
		t.Errorf("Before got %v, want the first failure", err)
	}
	if _, err := g.Responded(done("r")); !errors.Is(err, first) {
		t.Errorf("Responded got %v, want the first failure", err)
	}
}

// T76
func TestGateClosedOverAnUnsettledAnswerFails(t *testing.T) {
	t.Parallel()
	g := turn.NewGate(t.Context(), (&asked{}).admit)
	r := responded(t, g, done("r1"))
	err := g.Close()
	if err == nil || !settled(r) {
		t.Fatalf("Close got %v, want an error that tells of the unsettled answer", err)
	}
	if later := g.Before(t.Context()); !errors.Is(later, err) {
		t.Errorf("a later call got %v, want %v", later, err)
	}
}

// T76
func TestGateClosedWithNothingPendingDoesNotFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, abort := context.WithCancelCause(t.Context())
		a := &asked{}
		g := turn.NewGate(ctx, a.admit)
		s := done("r1")
		responded(t, g, s)
		g.Settle(s)
		if err := g.Close(); err != nil {
			t.Fatalf("Close got %v", err)
		}
		abort(errors.New("too late")) // the listener is off: it changes nothing
		synctest.Wait()
		if err := g.Before(t.Context()); err != nil || a.n != 1 {
			t.Errorf("after Close and a late abort, got %v", err)
		}
	})
}

// T77
func TestGateFailureThatNobodyAwaitsIsHarmless(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := turn.NewGate(t.Context(), (&asked{}).admit)
		for _, id := range []string{"a", "b", "c"} {
			responded(t, g, done(id))
		}
		g.Fail(errors.New("nobody waits"))
		synctest.Wait() // no goroutine is left that could panic or leak
		if err := g.Close(); err != nil {
			t.Fatalf("Close after a failure got %v", err)
		}
	})
}

// T78
func TestGateFailureEndsAWaitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("halt")
		g := turn.NewGate(t.Context(), (&asked{}).admit)
		responded(t, g, done("r1"))
		passed := make(chan error, 1)
		go func() { passed <- g.Before(t.Context()) }()
		synctest.Wait()
		g.Fail(failure)
		if err := <-passed; !errors.Is(err, failure) {
			t.Fatalf("got %v, want the failure", err)
		}
	})
}

// T78
func TestGateFailureEndsAnAdmissionAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("halt")
		release := make(chan struct{})
		g := turn.NewGate(t.Context(), func(context.Context) error {
			<-release
			return nil
		})
		passed := make(chan error, 1)
		go func() { passed <- g.Before(t.Context()) }()
		synctest.Wait()
		g.Fail(failure)
		if err := <-passed; !errors.Is(err, failure) {
			t.Fatalf("got %v, want the failure", err)
		}
		close(release)
	})
}
