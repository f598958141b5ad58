package storetest

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/store"
)

// goals are set, read, completed by the turn that works towards them, and deleted.
func goals(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	session, execution := s.begin("one")
	if _, err := s.Goal(ctx, session); !errors.Is(err, store.ErrNoGoal) {
		t.Errorf("a session without a goal gave %v", err)
	}
	if _, err := s.SetGoal(ctx, store.GoalChange{Session: "ses_none", Text: "x", Now: epoch}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a goal for no session gave %v", err)
	}
	var found store.Goal
	g, err := s.SetGoal(ctx, store.GoalChange{Session: session, Text: "all tests pass", By: "ida_1", Now: epoch, Found: func(g store.Goal) { found = g }})
	s.must(err)
	want := store.Goal{Session: session, Text: "all tests pass", Version: 1, Status: store.GoalActive, UpdatedAt: epoch}
	if !reflect.DeepEqual(g, want) || !reflect.DeepEqual(found, want) {
		t.Errorf("the goal is %+v, and %+v in the transaction, want %+v", g, found, want)
	}
	c, err := s.Claim(ctx, claimOf(session, execution, ""))
	s.must(err)
	if !reflect.DeepEqual(c.Goal, want) {
		t.Errorf("the claim got the goal %+v", c.Goal)
	}
	if done, err := s.CompleteGoal(ctx, c.Fence, 7, "e", epoch); done || err != nil {
		t.Errorf("another version was completed: %t, %v", done, err)
	}
	for range 2 { // the second is the same call after a crash
		if done, err := s.CompleteGoal(ctx, c.Fence, 1, "they pass", epoch); !done || err != nil {
			t.Errorf("the completion gave %t, %v", done, err)
		}
	}
	g, err = s.Goal(ctx, session)
	s.must(err)
	if g.Status != store.GoalCompleted || g.Version != 2 || g.Evidence != "they pass" {
		t.Errorf("the completed goal is %+v", g)
	}
	var told []string
	for _, e := range s.log(session) {
		if v := e.GetGoalSet(); v != nil {
			told = append(told, "set by "+v.GetBy())
		}
		if v := e.GetGoalCompleted(); v != nil {
			told = append(told, "completed: "+v.GetEvidence())
		}
	}
	if !slices.Equal(told, []string{"set by ida_1", "completed: they pass"}) {
		t.Errorf("the log tells %v", told)
	}
	if g, err = s.SetGoal(ctx, store.GoalChange{Session: session, Text: "docs too", Now: epoch}); err != nil || g.Version != 3 || g.Status != store.GoalActive || g.Evidence != "" {
		t.Errorf("another goal is %+v, %v", g, err)
	}
	stale := c.Fence
	stale.Generation++
	if _, err := s.CompleteGoal(ctx, stale, 3, "e", epoch); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a stale writer gave %v", err)
	}
	_, err = s.CompleteGoal(ctx, c.Fence, 3, "done", epoch)
	s.must(err)
	paused := completed()
	paused.Pause = &store.GoalPause{Reason: "allowance"}
	s.must(s.Settle(ctx, c.Fence, paused))
	if g, err = s.Goal(ctx, session); err != nil || g.Status != store.GoalCompleted || g.Version != 4 {
		t.Errorf("a completed goal was paused: %+v, %v", g, err)
	}
	_, err = s.DeleteSession(ctx, session, nil)
	s.must(err)
	if _, err := s.Goal(ctx, session); !errors.Is(err, store.ErrNoGoal) {
		t.Errorf("after the deletion the goal gave %v", err)
	}
}

// budgetStops: one settlement writes the events in their order, brings the session to
// rest and pauses the active goal, once; a settlement that is refused does none of it.
// T24, T26, T28, T29
func budgetStops(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	_, err := s.SetGoal(ctx, store.GoalChange{Session: c.Session, Text: "go on", Now: epoch})
	s.must(err)
	e := &store.Exhausted{Budget: cap100(store.ScopeOrganization, "default", store.PeriodDay), Spend: store.Spend{Tokens: 100}, ResetsAt: epoch.Add(time.Hour)}
	stop := completed()
	stop.SegmentLimit = store.BudgetExhausted
	stop.Pause = &store.GoalPause{Reason: store.PausedForAllowance, Rationale: e.Error()}
	stop.Events = func(sum store.Totals) []*eventv1.Event {
		return []*eventv1.Event{event.New(epoch, &eventv1.UsageExhausted{Allowance: e.Allowance()}), store.CutShort(e, sum, epoch)}
	}
	stale := c.Fence
	stale.Generation++
	if err := s.Settle(ctx, stale, stop); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a stale settlement gave %v", err)
	}
	if g, err := s.Goal(ctx, c.Session); err != nil || g.Status != store.GoalActive || s.phase(c.Session) != sessionv1.SessionPhase_running {
		t.Errorf("a refused settlement left %+v (%v) and the phase %s", g, err, s.phase(c.Session))
	}
	before := len(s.log(c.Session))
	s.must(s.Settle(ctx, c.Fence, stop))
	got := s.types(c.Session)[before:]
	if want := []string{"usage.exhausted", "turn.completed", "session.status.changed", "goal.paused"}; !slices.Equal(got, want) {
		t.Errorf("the settlement wrote %v, want %v", got, want)
	}
	g, err := s.Goal(ctx, c.Session)
	s.must(err)
	if g.Status != store.GoalPaused || g.Reason != "allowance" || g.Rationale != e.Error() || g.Version != 2 {
		t.Errorf("the goal is %+v", g)
	}
	st, err := s.Session(ctx, c.Session)
	s.must(err)
	if s.phase(c.Session) != sessionv1.SessionPhase_idle || st.Active != "" || s.status(c.Execution).GetSegmentLimit() != store.BudgetExhausted {
		t.Errorf("the session is %s with %q active", s.phase(c.Session), st.Active)
	}
}
