package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/store"
)

// RunShared runs what several processes on one database are promised. open makes an
// empty database and two handles of it. A store that does not declare Shared is
// skipped by name.
func RunShared(t *testing.T, open func(t *testing.T) (a, b store.Store)) {
	t.Helper()
	a, b := open(t)
	if !a.Capabilities().Shared {
		t.Skip("this store does not declare the capability Shared: one process has its database")
	}
	OneWins(t, a, b)
	if err := Linearizable(t.Context(), uint64(time.Now().UnixNano()), a, b); err != nil {
		t.Error(err)
	}
	c, d := open(t)
	sharedLeases(t, c, d)
}

// sharedLeases: what one handle holds, the other one sees.
func sharedLeases(t *testing.T, a, b store.Leases) {
	t.Helper()
	l, err := a.AcquireLease(t.Context(), "sweep", "a", time.Minute, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.AcquireLease(t.Context(), "sweep", "b", time.Minute, epoch); !errors.Is(err, store.ErrLeaseHeld) {
		t.Errorf("over the other handle a held lease gave %v", err)
	}
	next, err := b.AcquireLease(t.Context(), "sweep", "b", time.Minute, epoch.Add(time.Minute))
	if err != nil || next.Epoch != l.Epoch+1 {
		t.Errorf("the takeover over the other handle gave %+v, %v", next, err)
	}
	if _, err := a.RenewLease(t.Context(), l, time.Minute, epoch); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("the renewal of what was taken over gave %v", err)
	}
}

// OneWins has two handles of one database work on one session, as two servers
// would: of many claims one wins, a takeover needs its proof, and the writer that
// was taken over is fenced on either handle. What it still says is kept as evidence
// and reaches neither the history nor the sums that the next attempt works with.
func OneWins(t *testing.T, a, b store.Ledger) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in := input(newSession(""), "", "hello")
	_, err := a.Accept(ctx, in)
	must(err)

	var all sync.WaitGroup
	won := make(chan store.Claimed, 20)
	for i := range 20 {
		all.Go(func() {
			c, err := []store.Ledger{a, b}[i%2].Claim(ctx, claimOf(in.Session, in.Execution.ID, ""))
			switch {
			case err == nil:
				won <- c
			case !errors.Is(err, store.ErrOwned):
				t.Errorf("a losing claim gave %v", err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d claims won, want 1", len(won))
	}
	old := <-won
	must(a.Dispatch(ctx, old.Fence, store.Dispatch{Number: 1, Hold: &messagev1.Usage{InputTokens: 100}, Now: epoch}))
	next, err := b.Claim(ctx, claimOf(in.Session, in.Execution.ID, old.Attempt))
	must(err)

	before := marks(t, b, in.Session)
	for _, l := range []store.Ledger{a, b} {
		for what, write := range map[string]func() error{
			"append":  func() error { return l.Append(ctx, old.Fence, delta("late")) },
			"release": func() error { return l.Release(ctx, old.Fence, "", epoch) },
			"settle":  func() error { return l.Settle(ctx, old.Fence, completed()) },
			"respond": func() error {
				return l.Respond(ctx, old.Fence, store.Response{
					Number: 1, Item: assistant("late", "c1"), Usage: &messagev1.Usage{InputTokens: 7}, Now: epoch,
					Events: []*eventv1.Event{event.New(epoch, &eventv1.AgentMessageCompleted{Text: "late"})},
				})
			},
		} {
			if err := write(); !errors.Is(err, store.ErrFenced) {
				t.Errorf("%s of the attempt that was taken over gave %v", what, err)
			}
		}
	}
	kept := marks(t, a, in.Session)[len(before):]
	for _, e := range kept {
		if e.GetAssociation() != eventv1.Association_late_rejected || e.GetAttemptId() != old.Attempt {
			t.Errorf("a late event is kept as %v", e)
		}
	}
	if len(kept) != 6 { // of the appends, the settlements and the answers
		t.Errorf("%d late events are kept, want 6", len(kept))
	}
	must(b.Append(ctx, next.Fence, delta("mine")))
	again, err := a.Claim(ctx, claimOf(in.Session, in.Execution.ID, next.Attempt))
	must(err)
	if len(again.History) != 1 || len(again.Pending) != 0 || again.Calls != 1 || again.Usage.GetInputTokens() != 100 || again.Generation != 3 {
		t.Errorf("the next attempt works with %+v: a late answer reached live state", again)
	}
}

func marks(t *testing.T, l store.Ledger, session string) []*eventv1.Event {
	t.Helper()
	events, err := l.Events(t.Context(), store.EventQuery{Session: session, Limit: 1000, MaxDepth: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e.GetSeq() != int64(i)+1 {
			t.Fatalf("event %d has the number %d", i+1, e.GetSeq())
		}
	}
	return events
}

// Running is a turn that an attempt works on, in a session of its own.
func Running(t *testing.T, l store.Ledger) store.Claimed {
	t.Helper()
	in := input(newSession(""), "", "hello")
	if _, err := l.Accept(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	c, err := l.Claim(t.Context(), claimOf(in.Session, in.Execution.ID, ""))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
