package storetest

import (
	"testing"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// recoveries: how often a turn was tried again by itself is kept with its wait, over
// attempts, until a whole answer comes or a person lets it go on. T37
func recoveries(t *testing.T, open Open) {
	s := setup(t, open)
	c := s.claimed("hello")
	if c.Recoveries != (store.Recoveries{}) || c.Input == "" {
		t.Errorf("a new turn has recovered %+v, and answers %q", c.Recoveries, c.Input)
	}
	made := store.Recoveries{Count: 2, Overloads: 3, Since: epoch.Add(time.Minute), Code: "provider_unavailable"}
	again := s.waitsAndGoesOn(c, &made)
	s.hasMade(again, made)
	s.must(s.Release(t.Context(), again.Fence, "server_stopping", epoch))
	again = s.takes(again)
	s.hasMade(again, made) // a lost attempt forgets nothing

	again = s.waitsAndGoesOn(again, nil)
	s.hasMade(again, made) // and neither does a wait for something else
	s.must(s.Dispatch(t.Context(), again.Fence, store.Dispatch{Number: 1, Hold: &messagev1.Usage{}, Now: epoch}))
	s.must(s.Respond(t.Context(), again.Fence, store.Response{Number: 1, Now: epoch, Usage: &messagev1.Usage{}}))
	again = s.waitsAndGoesOn(again, nil)
	s.hasMade(again, made) // a request that was turned down is no answer
	s.ask(again, 2)
	again = s.waitsAndGoesOn(again, nil)
	s.hasMade(again, store.Recoveries{})

	again = s.waitsAndGoesOn(again, &made)
	s.must(s.Settle(t.Context(), again.Fence, failed()))
	s.must(second(s.Recover(t.Context(), store.RecoverRequest{Session: c.Session, Now: epoch})))
	s.hasMade(s.takes(again), store.Recoveries{})
}

// waitsAndGoesOn settles a claim as waiting, with what was made, and claims it when the
// timer is due.
func (f *fixture) waitsAndGoesOn(c store.Claimed, made *store.Recoveries) store.Claimed {
	f.t.Helper()
	due := epoch.Add(time.Minute)
	wait := waits(store.WaitProvider, due)
	wait.Recoveries = made
	f.must(f.Settle(f.t.Context(), c.Fence, wait))
	if w := f.work(c.Session, due); w.State != store.WorkClaim {
		f.t.Fatalf("when its timer is due the turn has %+v", w)
	}
	return f.takes(c)
}

// takes claims the execution of an attempt that has ended.
func (f *fixture) takes(c store.Claimed) store.Claimed {
	f.t.Helper()
	again, err := f.Claim(f.t.Context(), claimOf(c.Session, c.Execution, ""))
	f.must(err)
	return again
}

func (f *fixture) hasMade(c store.Claimed, want store.Recoveries) {
	f.t.Helper()
	got := c.Recoveries
	if !got.Since.Equal(want.Since) || got.Count != want.Count || got.Overloads != want.Overloads || got.Code != want.Code {
		f.t.Errorf("the turn has recovered %+v, want %+v", got, want)
	}
}
