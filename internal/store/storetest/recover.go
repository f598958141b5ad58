package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// waits is a settlement that waits, with until by itself.
func waits(what string, until time.Time) store.Settlement {
	return store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_waiting, WaitingFor: what, Until: until, Now: epoch,
		Events: func(store.Totals) []*eventv1.Event {
			return []*eventv1.Event{event.New(epoch, &eventv1.TurnWaiting{WaitingFor: what})}
		},
	}
}

func failed() store.Settlement {
	return store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_failed, Now: epoch, Error: &agentexecutionv1.ExecutionError{Code: "broken"},
		Events: func(store.Totals) []*eventv1.Event { return []*eventv1.Event{event.New(epoch, &eventv1.TurnFailed{})} },
	}
}

func (f *fixture) work(session string, now time.Time) store.Work {
	f.t.Helper()
	w, err := f.Peek(f.t.Context(), session, now)
	f.must(err)
	return w
}

// timers: an execution that waits for one goes on with the peek that finds it due.
func timers(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("hello")
	due := epoch.Add(time.Minute)
	s.must(s.Settle(ctx, c.Fence, waits("provider", due)))
	if st := s.status(c.Execution); st.GetWaitingFor() != "provider" || !st.GetWaitingUntil().AsTime().Equal(due) {
		t.Errorf("the execution is %v, want it to wait until %s", st, due)
	}
	if w := s.work(c.Session, due.Add(-time.Millisecond)); w.State != store.WorkNone || !w.Due.Equal(due) {
		t.Errorf("before the timer the peek found %+v", w)
	}
	if _, err := s.Claim(ctx, claimOf(c.Session, c.Execution, "")); !errors.Is(err, store.ErrNoWork) {
		t.Errorf("a claim before the timer gave %v", err)
	}
	if w := s.work(c.Session, due); w.State != store.WorkClaim || w.Execution != c.Execution || !w.Due.IsZero() {
		t.Errorf("with the timer due the peek found %+v", w)
	}
	if st := s.status(c.Execution); st.GetPhase() != agentexecutionv1.ExecutionPhase_queued || st.GetWaitingUntil() != nil {
		t.Errorf("after the timer, and without an owner, the execution is %v", st)
	}
	again, err := s.Claim(ctx, claimOf(c.Session, c.Execution, ""))
	s.must(err)
	log := s.log(c.Session)
	taken := log[len(log)-1].GetTurnRecoveryRequested()
	if again.Generation != 2 || taken.GetReason() != "resumed" || taken.GetLostGeneration() != 1 {
		t.Errorf("the claim after the timer has generation %d and says %v", again.Generation, taken)
	}

	// A timer that nothing waits for is consumed all the same, and a cancel ends the wait.
	s.must(s.SetTimer(ctx, c.Session, "other", due))
	if w := s.work(c.Session, due); !w.Due.IsZero() {
		t.Errorf("a consumed timer is due at %s", w.Due)
	}
	s.must(s.Settle(ctx, again.Fence, waits("provider", due)))
	_, err = s.RequestCancel(ctx, store.CancelRequest{Session: c.Session, Now: epoch})
	s.must(err)
	if w := s.work(c.Session, epoch); w.State != store.WorkNone || !w.Due.IsZero() {
		t.Errorf("after a cancel the peek found %+v, want no timer", w)
	}
	if w := s.work(c.Session, due); w.State != store.WorkNone {
		t.Errorf("after a cancel the timer brings %+v", w)
	}
}

// unsafeCall asks for two calls and begins the first, which is unsafe.
func (f *fixture) unsafeCall(c store.Claimed) {
	f.t.Helper()
	ctx := f.t.Context()
	f.must(f.Dispatch(ctx, c.Fence, store.Dispatch{Number: 1, Hold: &messagev1.Usage{}, Now: epoch}))
	parts := []*messagev1.AssistantPart{toolCall("call_1"), toolCall("call_2")}
	f.must(f.Respond(ctx, c.Fence, store.Response{Number: 1, Now: epoch, Item: &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{Parts: parts}}}}))
	f.must(f.StartTools(ctx, c.Fence, []store.ToolStart{{CallID: "call_1", Class: "unsafe", Event: event.New(epoch, &eventv1.AgentToolStarted{CallId: "call_1"})}}))
}

func toolCall(id string) *messagev1.AssistantPart {
	return &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: id, Name: "shell"}}}
}

// recoversWaits: the unknown call gets that as its result, once; the call behind it
// is still to be made.
func recoversWaits(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("hello")
	s.unsafeCall(c)
	s.must(s.Settle(ctx, c.Fence, waits(store.WaitOutcomeUnknown, time.Time{})))
	if _, err := s.Claim(ctx, claimOf(c.Session, c.Execution, "")); !errors.Is(err, store.ErrNoWork) {
		t.Errorf("a claim of a waiting execution gave %v", err)
	}
	var found agentexecutionv1.AgentExecution
	out, err := s.Recover(ctx, store.RecoverRequest{
		Session: c.Session, By: "somebody", Now: epoch, Found: func(r store.Row) error { return proto.Unmarshal(r.Data, &found) },
	})
	s.must(err)
	if out.Execution.ID != c.Execution || found.GetStatus().GetPhase() != agentexecutionv1.ExecutionPhase_queued || out.Revision != 2 {
		t.Errorf("the recovery answers %v, revision %d", &found, out.Revision)
	}
	if _, err := s.Recover(ctx, store.RecoverRequest{Session: c.Session, Now: epoch}); fault.ReasonOf(err) != "NOTHING_TO_RECOVER" {
		t.Errorf("a second recovery gave %v", err)
	}
	log := s.log(c.Session)
	i := slices.IndexFunc(log, func(e *eventv1.Event) bool { return e.GetType() == "turn.reopened" })
	if i < 0 || log[i].GetTurnReopened().GetBy() != "somebody" || log[i].GetTurnReopened().GetReason() != store.WaitOutcomeUnknown {
		t.Errorf("the log is %v", s.types(c.Session))
	}
	if w := s.work(c.Session, epoch); w.State != store.WorkClaim || w.Execution != c.Execution {
		t.Errorf("after the recovery the peek found %+v", w)
	}
	again, err := s.Claim(ctx, claimOf(c.Session, c.Execution, ""))
	s.must(err)
	result := again.History[len(again.History)-1].GetToolResult()
	if result.GetCallId() != "call_1" || !result.GetOutcomeUnknown() || !result.GetIsError() {
		t.Errorf("the model is told %v", result)
	}
	if len(again.Pending) != 1 || again.Pending[0].Call.GetId() != "call_2" || again.Pending[0].Started {
		t.Errorf("what is still to be made is %v", again.Pending)
	}
}

// recoversFailures: a failed execution goes on when it is the newest and its
// folder is free.
func recoversFailures(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	first := input(newSession("/srv/one"), "", "hello")
	_, err := s.Accept(ctx, first)
	s.must(err)
	c, err := s.Claim(ctx, claimOf(first.Session, first.Execution.ID, ""))
	s.must(err)
	if _, err := s.Recover(ctx, store.RecoverRequest{Session: c.Session, Execution: c.Execution, Now: epoch}); fault.ReasonOf(err) != "NOTHING_TO_RECOVER" {
		t.Errorf("the recovery of a running execution gave %v", err)
	}
	s.must(s.Settle(ctx, c.Fence, failed()))

	other := input(newSession("/srv/one/sub"), "", "mine")
	_, err = s.Accept(ctx, other)
	s.must(err)
	if _, err := s.Recover(ctx, store.RecoverRequest{Session: c.Session, Now: epoch}); fault.ReasonOf(err) != "WORKSPACE_HELD" {
		t.Errorf("the recovery in a held folder gave %v", err)
	}
	_, err = s.RequestCancel(ctx, store.CancelRequest{Session: other.Session, Now: epoch})
	s.must(err)

	_, err = s.Recover(ctx, store.RecoverRequest{Session: c.Session, Now: epoch})
	s.must(err)
	if st := s.status(c.Execution); st.GetError() != nil || s.phase(c.Session) != sessionv1.SessionPhase_running {
		t.Errorf("the execution is %v, the session %s", st, s.phase(c.Session))
	}
	again, err := s.Claim(ctx, claimOf(c.Session, c.Execution, ""))
	s.must(err)
	if again.Generation != 2 || again.First || len(again.History) != 1 {
		t.Errorf("the recovered claim is %+v", again)
	}
	s.must(s.Settle(ctx, again.Fence, failed()))
	next := input(nil, c.Session, "again")
	_, err = s.Accept(ctx, next)
	s.must(err)
	if _, err := s.Recover(ctx, store.RecoverRequest{Session: c.Session, Execution: c.Execution, Now: epoch}); fault.ReasonOf(err) != "NOTHING_TO_RECOVER" {
		t.Errorf("the recovery of an older execution gave %v", err)
	}
	if _, err := s.Recover(ctx, store.RecoverRequest{Session: "ses_none", Now: epoch}); fault.ReasonOf(err) != "NOTHING_TO_RECOVER" {
		t.Errorf("the recovery of nothing gave %v", err)
	}
}

// disowns: what a dead process owned is claimed by the next one without further
// proof, and nothing says running meanwhile.
func disowns(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	dead, cancelled, mine := s.claimed("one"), s.claimed("two"), s.claimed("three")
	_, err := s.RequestCancel(ctx, store.CancelRequest{Session: cancelled.Session, Now: epoch})
	s.must(err)
	if left, err := s.Disown(ctx, "boot_1", "", epoch); err != nil || len(left) != 0 {
		t.Errorf("a process disowns itself of %v (%v)", left, err)
	}
	s.must(s.Settle(ctx, mine.Fence, completed()))
	left, err := s.Disown(ctx, "boot_2", "", epoch)
	s.must(err)
	if len(left) != 2 {
		t.Errorf("the dead process owned %v, want two attempts", left)
	}
	if st := s.status(dead.Execution); st.GetPhase() != agentexecutionv1.ExecutionPhase_queued {
		t.Errorf("nobody owns the execution, and it is %s", st.GetPhase())
	}
	if err := s.Append(ctx, dead.Fence, delta("late")); !errors.Is(err, store.ErrFenced) {
		t.Errorf("the dead process writes: %v", err)
	}
	claim := claimOf(dead.Session, dead.Execution, "")
	claim.BootEpoch = "boot_2"
	again, err := s.Claim(ctx, claim)
	s.must(err)
	log := s.log(dead.Session)
	if got := log[len(log)-1].GetTurnRecoveryRequested().GetReason(); again.Generation != 2 || again.Redispatches != 0 || got != "attempt_lost" {
		t.Errorf("the next claim is %+v, for the reason %q", again, got)
	}
	if w := s.work(cancelled.Session, epoch); w.State != store.WorkInterrupt || w.Attempt.Attempt != "" {
		t.Errorf("of the cancelled one the peek found %+v", w)
	}
	s.must(s.SettleInterrupted(ctx, cancelled.Session, cancelled.Execution, epoch))
	if live, err := s.LiveAttempts(ctx); err != nil || len(live) != 1 {
		t.Errorf("alive are %v (%v)", live, err)
	}
}
