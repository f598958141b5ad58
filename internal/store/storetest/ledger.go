package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

func accepts(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	a := input(newSession("/srv/tree"), "", "hello")
	revision, err := s.Accept(ctx, a)
	s.must(err)
	if revision != 1 || s.phase(a.Session) != sessionv1.SessionPhase_running {
		t.Errorf("after the first input the revision is %d and the phase %s", revision, s.phase(a.Session))
	}
	if got := s.types(a.Session); !slices.Equal(got, []string{"input.queued", "turn.queued", "session.status.changed"}) {
		t.Errorf("the log is %v", got)
	}
	if len(s.seen) != 3 || s.seen[2].GetSeq() != 3 {
		t.Errorf("the observer saw %v", s.seen)
	}

	for _, folder := range []string{"/srv/tree", "/srv/tree/sub", "/srv"} {
		_, err := s.Accept(ctx, input(newSession(folder), "", "me too"))
		if fault.ReasonOf(err) != "WORKSPACE_HELD" || fault.From(err).Meta["session"] != a.Session {
			t.Errorf("%s: got %v, want WORKSPACE_HELD by %s", folder, err, a.Session)
		}
	}
	_, err = s.Accept(ctx, input(newSession("/srv/tree2"), "", "beside it"))
	s.must(err)

	reject := newSession("")
	reject.Reject = true
	first := input(reject, "", "one")
	_, err = s.Accept(ctx, first)
	s.must(err)
	if _, err := s.Accept(ctx, input(nil, first.Session, "two")); fault.ReasonOf(err) != "SESSION_BUSY" {
		t.Errorf("an input that the policy refuses gave %v", err)
	}
	if _, err := s.Accept(ctx, input(nil, "ses_none", "x")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an input for no session gave %v", err)
	}
	if got := len(s.log(first.Session)); got != 3 {
		t.Errorf("a refused input left %d events, want 3", got)
	}
}

func claims(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	session, first := s.begin("one")
	second := input(nil, session, "two")
	_, err := s.Accept(ctx, second)
	s.must(err)

	w, err := s.Peek(ctx, session, epoch)
	s.must(err)
	if w.Execution != first || w.State != store.WorkClaim || w.Revision != 2 {
		t.Errorf("the peek found %+v, want the first execution", w)
	}
	if _, err := s.Claim(ctx, claimOf(session, second.Execution.ID, "")); !errors.Is(err, store.ErrNoWork) {
		t.Errorf("a claim out of turn gave %v", err)
	}

	// Of many claimers one wins.
	var all sync.WaitGroup
	won := make(chan store.Claimed, 20)
	for range 20 {
		all.Go(func() {
			c, err := s.Claim(ctx, claimOf(session, first, ""))
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
	c := <-won
	if !c.First || c.Generation != 1 || len(c.History) != 1 || c.History[0].GetUser().GetText() != "one" || c.Policy.GetModel() != "fake/m" {
		t.Errorf("the claim got %+v", c)
	}
	live, err := s.LiveAttempts(ctx)
	s.must(err)
	if len(live) != 1 || live[0].Fence != c.Fence || live[0].BootEpoch != "boot_1" || live[0].Activity != "a" {
		t.Errorf("live attempts are %+v", live)
	}

	// A takeover needs the proof that this very attempt is gone.
	if _, err := s.Claim(ctx, claimOf(session, first, "att_another")); !errors.Is(err, store.ErrOwned) {
		t.Errorf("a wrong proof gave %v", err)
	}
	next := claimOf(session, first, c.Attempt)
	next.Policy = &ledgerv1.ExecutionPolicy{Model: "another/model"}
	again, err := s.Claim(ctx, next)
	s.must(err)
	if again.First || again.Generation != 2 || again.Policy.GetModel() != "fake/m" || len(again.History) != 1 {
		t.Errorf("the takeover got %+v, want the frozen policy and the same history", again)
	}
	if st := s.status(first); st.GetGeneration() != 2 || st.GetPhase() != agentexecutionv1.ExecutionPhase_running {
		t.Errorf("the execution is %v", st)
	}
}

func fences(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	old := s.claimed("hello")
	now, err := s.Claim(ctx, claimOf(old.Session, old.Execution, old.Attempt))
	s.must(err)
	before := len(s.log(old.Session))

	writes := map[string]func() error{
		"append":   func() error { return s.Append(ctx, old.Fence, delta("late")) },
		"dispatch": func() error { return s.Dispatch(ctx, old.Fence, store.Dispatch{Number: 1, Now: epoch}) },
		"respond":  func() error { return s.Respond(ctx, old.Fence, store.Response{Number: 1, Now: epoch}) },
		"start":    func() error { return s.StartTools(ctx, old.Fence, nil) },
		"finish":   func() error { return s.FinishTools(ctx, old.Fence, nil) },
		"item":     func() error { return s.AddItem(ctx, old.Fence, user("x"), true) },
		"settle":   func() error { return s.Settle(ctx, old.Fence, completed()) },
		"release":  func() error { return s.Release(ctx, old.Fence, "x", epoch) },
	}
	for what, write := range writes {
		if err := write(); !errors.Is(err, store.ErrFenced) {
			t.Errorf("%s of a stale attempt gave %v, want ErrFenced", what, err)
		}
	}
	late := 0
	for _, e := range s.log(old.Session)[before:] {
		if e.GetAssociation() == eventv1.Association_late_rejected && e.GetAttemptId() == old.Attempt && e.GetGeneration() == 1 {
			late++
		}
	}
	if late != 2 { // the delta and the settlement's event
		t.Errorf("%d late events were kept, want 2", late)
	}
	for _, bad := range []store.Fence{
		{Session: now.Session, Execution: now.Execution, Attempt: now.Attempt, Generation: 3},
		{Session: "ses_other", Execution: now.Execution, Attempt: now.Attempt, Generation: 2},
	} {
		if err := s.Append(ctx, bad, nil); !errors.Is(err, store.ErrFenced) {
			t.Errorf("the fence %+v passed: %v", bad, err)
		}
	}
	s.must(s.Append(ctx, now.Fence, delta("mine")))
	s.must(s.Settle(ctx, now.Fence, completed()))
	if err := s.Append(ctx, now.Fence, delta("after")); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a write after the settlement gave %v", err)
	}
}

func assistant(text string, calls ...string) *messagev1.Item {
	m := &messagev1.AssistantMessage{Parts: []*messagev1.AssistantPart{{Part: &messagev1.AssistantPart_Text{Text: text}}}}
	for _, id := range calls {
		m.Parts = append(m.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: &messagev1.ToolCall{Id: id, Name: "edit", Arguments: "{}"}}})
	}
	return &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: m}}
}

func result(id string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{CallId: id, Text: "ok"}}}
}

// ask dispatches and answers one request with tool calls.
func (f *fixture) ask(c store.Claimed, number int32, calls ...string) {
	f.t.Helper()
	f.must(f.Dispatch(f.t.Context(), c.Fence, store.Dispatch{Number: number, Hold: &messagev1.Usage{InputTokens: 100, OutputTokens: 50}, Now: epoch}))
	f.must(f.Respond(f.t.Context(), c.Fence, store.Response{
		Number: number, Item: assistant("hm", calls...), Usage: &messagev1.Usage{InputTokens: 7, OutputTokens: 3}, Now: epoch,
	}))
}

func tools(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("hello")
	s.ask(c, 1, "c1", "c2", "c3")
	if err := s.Dispatch(ctx, c.Fence, store.Dispatch{Number: 1, Now: epoch}); err == nil {
		t.Error("a request number was dispatched twice")
	}
	if err := s.Respond(ctx, c.Fence, store.Response{Number: 1, Now: epoch}); err == nil {
		t.Error("usage was booked twice for one request")
	}

	m := &ledgerv1.Mutation{Path: "a", Before: "b1", After: "a1", Result: "done"}
	started := event.New(epoch, &eventv1.AgentToolStarted{CallId: "c1"})
	s.must(s.StartTools(ctx, c.Fence, []store.ToolStart{{CallID: "c1", Class: "idempotent", Mutation: m, Event: started}}))
	finished := func(id string) store.ToolFinish {
		return store.ToolFinish{CallID: id, Item: result(id), Event: event.New(epoch, &eventv1.AgentToolCompleted{CallId: id})}
	}
	s.must(s.FinishTools(ctx, c.Fence, []store.ToolFinish{finished("c2")}))
	if err := s.FinishTools(ctx, c.Fence, []store.ToolFinish{finished("c2")}); err == nil {
		t.Error("a call was finished twice")
	}
	if err := s.FinishTools(ctx, c.Fence, []store.ToolFinish{finished("c3"), finished("unknown")}); err == nil {
		t.Error("an unknown call was finished")
	}

	again, err := s.Claim(ctx, claimOf(c.Session, c.Execution, c.Attempt))
	s.must(err)
	if len(again.Pending) != 2 || again.Pending[0].Call.GetId() != "c1" || again.Pending[1].Call.GetId() != "c3" {
		t.Fatalf("open calls are %+v, want c1 and c3 in their order", again.Pending)
	}
	if p := again.Pending[0]; !p.Started || p.Class != "idempotent" || p.Mutation.GetAfter() != "a1" || p.Mutation.GetResult() != "done" {
		t.Errorf("the started call is %+v", p)
	}
	if p := again.Pending[1]; p.Started || p.Mutation != nil {
		t.Errorf("the call that never started is %+v", p)
	}
	s.must(s.UnstartTools(ctx, again.Fence, []string{"c1", "c2"}))
	again, err = s.Claim(ctx, claimOf(c.Session, c.Execution, again.Attempt))
	s.must(err)
	if p := again.Pending[0]; len(again.Pending) != 2 || p.Started || p.Class != "" || p.Mutation != nil {
		t.Errorf("a call that did not begin is %+v of %d, and one with an outcome has it no more", p, len(again.Pending))
	}
	if again.Calls != 1 || again.ToolCalls != 3 || again.Usage.GetInputTokens() != 7 || len(again.History) != 3 {
		t.Errorf("sums are %d calls, %d tool calls, %v, %d items", again.Calls, again.ToolCalls, again.Usage, len(again.History))
	}
}

func settlements(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	queued := input(nil, c.Session, "two")
	_, err := s.Accept(ctx, queued)
	s.must(err)
	s.ask(c, 1, "c1")
	s.must(s.Dispatch(ctx, c.Fence, store.Dispatch{Number: 2, Hold: &messagev1.Usage{InputTokens: 100, OutputTokens: 50}, Now: epoch}))
	var sums store.Totals
	end := completed()
	end.Events = func(sum store.Totals) []*eventv1.Event {
		sums = sum
		return []*eventv1.Event{store.Completed("", sum, epoch)}
	}
	s.must(s.Settle(ctx, c.Fence, end))
	if sums.Usage.GetInputTokens() != 107 || !sums.Usage.GetEstimated() || sums.Calls != 2 {
		t.Errorf("the sums are %v after %d calls: a request without an answer counts at its hold", sums.Usage, sums.Calls)
	}
	if st := s.status(c.Execution); st.GetPhase() != agentexecutionv1.ExecutionPhase_completed || st.GetEndedAt() == nil {
		t.Errorf("the execution is %v", st)
	}
	if s.phase(c.Session) != sessionv1.SessionPhase_running {
		t.Errorf("with an input waiting the session is %s", s.phase(c.Session))
	}

	next, err := s.Claim(ctx, claimOf(c.Session, queued.Execution.ID, ""))
	s.must(err)
	closed := next.History[len(next.History)-2].GetToolResult()
	if closed.GetCallId() != "c1" || !closed.GetIsError() {
		t.Errorf("the open call of the ended turn has the result %v: the history is not paired", closed)
	}
	failed := completed()
	failed.Phase = agentexecutionv1.ExecutionPhase_failed
	failed.Error = &agentexecutionv1.ExecutionError{Code: "x"}
	s.must(s.Settle(ctx, next.Fence, failed))
	if s.phase(c.Session) != sessionv1.SessionPhase_failed {
		t.Errorf("after a failed turn the session is %s", s.phase(c.Session))
	}
	w, err := s.Peek(ctx, c.Session, epoch)
	s.must(err)
	if w.State != store.WorkNone {
		t.Errorf("after the last turn there is %+v to do", w)
	}
	t.Run("waiting", func(t *testing.T) { waiting(t, open) })
}

// waiting is a turn whose call has an unknown outcome; the next input ends it.
func waiting(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	s.ask(c, 1, "c1")
	s.must(s.StartTools(ctx, c.Fence, []store.ToolStart{{CallID: "c1", Class: "unsafe", Event: event.New(epoch, &eventv1.AgentToolStarted{CallId: "c1"})}}))
	wait := completed()
	wait.Phase, wait.WaitingFor = agentexecutionv1.ExecutionPhase_waiting, store.WaitOutcomeUnknown
	wait.Events = func(store.Totals) []*eventv1.Event {
		return []*eventv1.Event{event.New(epoch, &eventv1.TurnWaiting{WaitingFor: store.WaitOutcomeUnknown})}
	}
	s.must(s.Settle(ctx, c.Fence, wait))
	w, err := s.Peek(ctx, c.Session, epoch)
	s.must(err)
	if w.State != store.WorkNone || s.phase(c.Session) != sessionv1.SessionPhase_waiting {
		t.Errorf("a waiting turn gives %+v to do in phase %s", w, s.phase(c.Session))
	}
	next := input(nil, c.Session, "go on")
	_, err = s.Accept(ctx, next)
	s.must(err)
	if st := s.status(c.Execution); st.GetPhase() != agentexecutionv1.ExecutionPhase_completed || st.GetSegmentLimit() != store.WaitOutcomeUnknown {
		t.Errorf("the waiting turn is %v after the next input", st)
	}
	got, err := s.Claim(ctx, claimOf(c.Session, next.Execution.ID, ""))
	s.must(err)
	r := got.History[len(got.History)-2].GetToolResult()
	if r.GetCallId() != "c1" || !r.GetOutcomeUnknown() {
		t.Errorf("the history tells of the call: %v", r)
	}
}

func cancels(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	queued := input(nil, c.Session, "two")
	_, err := s.Accept(ctx, queued)
	s.must(err)
	found := 0
	out, err := s.RequestCancel(ctx, store.CancelRequest{Session: c.Session, Reason: "enough", By: "me", Now: epoch, Found: func(a store.CancelAnswer) error {
		found = len(a.Executions)
		return nil
	}})
	s.must(err)
	if len(out.Executions) != 2 || found != 2 || len(out.Tell) != 1 || out.Tell[0] != c.Fence {
		t.Errorf("the cancel concerns %d executions and tells %v", len(out.Executions), out.Tell)
	}
	if st := s.status(queued.Execution.ID); st.GetPhase() != agentexecutionv1.ExecutionPhase_cancelled || st.GetCancelReason() != "enough" {
		t.Errorf("the queued execution is %v", st)
	}
	if st := s.status(c.Execution); st.GetPhase() != agentexecutionv1.ExecutionPhase_cancelling || s.phase(c.Session) != sessionv1.SessionPhase_cancelling {
		t.Errorf("the running execution is %v, the session %s", st, s.phase(c.Session))
	}
	w, err := s.Peek(ctx, c.Session, epoch)
	s.must(err)
	if w.State != store.WorkInterrupt || w.Attempt.Attempt != c.Attempt {
		t.Errorf("the peek found %+v", w)
	}
	if _, err := s.Claim(ctx, claimOf(c.Session, c.Execution, c.Attempt)); !errors.Is(err, store.ErrNoWork) {
		t.Errorf("a claim of a cancelled turn gave %v", err)
	}
	// Nobody works on it any more: the interruption is settled without an attempt.
	s.must(s.SettleInterrupted(ctx, c.Session, c.Execution, epoch))
	if err := s.SettleInterrupted(ctx, c.Session, c.Execution, epoch); !errors.Is(err, store.ErrNoWork) {
		t.Errorf("a second settlement gave %v", err)
	}
	ends := 0
	for _, typ := range s.types(c.Session) {
		if typ == "turn.cancelled" {
			ends++
		}
	}
	if ends != 2 || s.phase(c.Session) != sessionv1.SessionPhase_idle {
		t.Errorf("%d turns were cancelled and the session is %s", ends, s.phase(c.Session))
	}
	again, err := s.RequestCancel(ctx, store.CancelRequest{Session: c.Session, Now: epoch})
	if err != nil || len(again.Executions) != 0 {
		t.Errorf("a cancel of nothing gave %v, %v", again, err)
	}
}

func logs(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("hello")
	before := int64(len(s.log(c.Session)))
	const writers, each = 8, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if err := s.Append(ctx, c.Fence, append(delta(fmt.Sprint(w, i)), event.New(epoch, &eventv1.AgentToolProgress{}))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := int64(len(s.log(c.Session))); got != before+2*writers*each {
		t.Errorf("the log has %d events, want %d", got, before+2*writers*each)
	}
	s.mu.Lock()
	for i, e := range s.seen {
		if e.GetSeq() != int64(i)+1 {
			t.Errorf("the observer saw seq %d at place %d", e.GetSeq(), i+1)
			break
		}
	}
	s.mu.Unlock()

	page := func(q store.EventQuery) []*eventv1.Event {
		q.Session, q.MaxDepth = c.Session, -1
		events, err := s.Events(ctx, q)
		s.must(err)
		return events
	}
	if got := page(store.EventQuery{After: before, Limit: 3}); len(got) != 3 || got[0].GetSeq() != before+1 {
		t.Errorf("a page after %d is %v", before, got)
	}
	if got := page(store.EventQuery{Limit: 1000, Types: []string{"agent.tool.*"}}); len(got) != writers*each {
		t.Errorf("a family has %d events, want %d", len(got), writers*each)
	}
	if got := page(store.EventQuery{Limit: 1000, Types: []string{"turn.started", "input.queued"}}); len(got) != 2 {
		t.Errorf("two types have %d events", len(got))
	}
	if got := page(store.EventQuery{Limit: 1000, Tree: true, After: before}); len(got) != 2*writers*each {
		t.Errorf("the tree has %d events", len(got))
	}
	st, err := s.Session(ctx, c.Session)
	if err != nil || st.LastSeq != before+2*writers*each || st.TreeSeq != st.LastSeq || st.Open != 1 {
		t.Errorf("the session is %+v, %v", st, err)
	}
}

func wakeUps(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	nudges := func() []string {
		var ids []string
		stale, err := s.Stale(ctx, epoch.Add(time.Hour), epoch.Add(time.Hour), 100)
		s.must(err)
		for _, n := range stale {
			ids = append(ids, n.Session)
		}
		return ids
	}
	c := s.claimed("hello") // the claim consumed the outbox row
	if got := nudges(); len(got) != 0 {
		t.Errorf("after the claim the outbox has %v", got)
	}
	open1, err := s.Open(ctx, "", 10)
	s.must(err)
	if len(open1) != 1 || open1[0].Session != c.Session {
		t.Errorf("open sessions are %v", open1)
	}
	s.must(s.Release(ctx, c.Fence, "stopping", epoch))
	if got := nudges(); !slices.Equal(got, []string{c.Session}) {
		t.Errorf("after the release the outbox has %v", got)
	}
	w, err := s.Peek(ctx, c.Session, epoch) // there is work: the row stays for the claim
	s.must(err)
	if w.State != store.WorkClaim || w.Attempt.Attempt != "" || len(nudges()) != 1 {
		t.Errorf("the peek found %+v and left %v", w, nudges())
	}
	next, err := s.Claim(ctx, claimOf(c.Session, c.Execution, ""))
	s.must(err)
	s.must(s.Settle(ctx, next.Fence, completed()))

	due := epoch.Add(time.Minute)
	s.must(s.SetTimer(ctx, c.Session, "hold", due))
	w, err = s.Peek(ctx, c.Session, epoch)
	s.must(err)
	if w.State != store.WorkNone || !w.Due.Equal(due) {
		t.Errorf("with a timer the peek found %+v", w)
	}
	if got := nudges(); !slices.Equal(got, []string{c.Session}) { // due an hour later
		t.Errorf("a due timer nudges %v", got)
	}
	s.must(s.SetTimer(ctx, c.Session, "hold", time.Time{}))
	w, err = s.Peek(ctx, c.Session, epoch)
	s.must(err)
	if got := nudges(); !w.Due.IsZero() || len(got) != 0 {
		t.Errorf("without the timer there is %+v and %v", w, got)
	}
	if w, err := s.Peek(ctx, "ses_none", epoch); err != nil || w.State != store.WorkNone {
		t.Errorf("a peek at no session gave %+v, %v", w, err)
	}
}

func deletion(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("hello")
	if _, err := s.DeleteSession(ctx, c.Session, nil); fault.ReasonOf(err) != "SESSION_BUSY" {
		t.Errorf("deleting a busy session gave %v", err)
	}
	s.must(s.Settle(ctx, c.Fence, completed()))
	_, err := s.DeleteSession(ctx, c.Session, nil)
	s.must(err)
	for what, err := range map[string]error{
		"session":   second(s.Session(ctx, c.Session)),
		"resource":  second(s.Get(ctx, sessionKind, c.Session)),
		"execution": second(s.Get(ctx, executionKind, c.Execution)),
		"again":     second(s.DeleteSession(ctx, c.Session, nil)),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: got %v, want NotFound", what, err)
		}
	}
	if events, err := s.Events(ctx, store.EventQuery{Session: c.Session, Limit: 10, MaxDepth: -1}); err != nil || len(events) != 0 {
		t.Errorf("the log of a deleted session has %d events (%v)", len(events), err)
	}
}
