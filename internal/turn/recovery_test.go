package turn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// faulty plays errors, one per request, and then answers.
func faulty(errs ...error) func(context.Context, model.Request) parts {
	n := 0
	return func(_ context.Context, req model.Request) parts {
		n++
		if n <= len(errs) {
			return func(yield func(model.Part, error) bool) {
				req.Sent()
				_ = yield(text("half"), nil) && yield(model.Part{}, errs[n-1])
			}
		}
		return func(yield func(model.Part, error) bool) {
			req.Sent()
			_ = yield(text("whole"), nil) && yield(end(1, 1), nil)
		}
	}
}

// waits is what the turn waits for; it fails the test where it does not wait for that.
func (w *world) waits(what string) *eventv1.TurnWaiting {
	w.t.Helper()
	st := w.status()
	told := w.last("turn.waiting").GetTurnWaiting()
	if st.GetPhase() != agentexecutionv1.ExecutionPhase_waiting || st.GetWaitingFor() != what || told.GetWaitingFor() != what {
		w.t.Fatalf("the execution is %v and the log says %v, want it to wait for %s", st, told, what)
	}
	if st.GetError().GetCode() != told.GetError().GetCode() || !st.GetWaitingUntil().AsTime().Equal(told.GetUntil().AsTime()) {
		w.t.Fatalf("the execution is %v and the log says %v", st, told)
	}
	return told
}

// goOn claims the turn when its timer is due, and not before, and runs it.
func (w *world) goOn(ctx context.Context) {
	w.t.Helper()
	due := w.status().GetWaitingUntil().AsTime()
	if early, err := w.store.Peek(ctx, w.session, due.Add(-time.Millisecond)); err != nil || early.State != store.WorkNone || early.Due.IsZero() {
		w.t.Fatalf("before its time the turn has %+v, %v", early, err)
	}
	if work, err := w.store.Peek(ctx, w.session, due); err != nil || work.State != store.WorkClaim {
		w.t.Fatalf("at its time the turn has %+v, %v", work, err)
	}
	if err := turn.Run(ctx, w, w.claim(""), w.opt); err != nil {
		w.t.Fatal(err)
	}
}

var limited = &model.Error{Category: model.RateLimited, Status: 429, Message: "slow down", RetryAfter: 7 * time.Second}

// A provider's failure that passes is waited out on the same execution: what was shown
// is durable before the wait, and the whole answer ends the turn. T39
func TestATurnWaitsForItsProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = faulty(limited)
	began := w.Now()
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := w.waits("provider")
	if wait := told.GetUntil().AsTime().Sub(began); wait < 7*time.Second || wait > time.Minute {
		t.Errorf("it waits %s, and the provider asks for 7s", wait)
	}
	if e := told.GetError(); e.GetCode() != "provider_rate_limited" || !e.GetRetryable() || e.GetDetail() != "slow down" || told.GetRecovery() != 1 || told.GetRecoveries() != 5 {
		t.Errorf("it says %v", told)
	}
	types := w.types()
	if shown, waiting := slices.Index(types, "agent.message.delta"), slices.Index(types, "turn.waiting"); shown < 0 || shown > waiting {
		t.Errorf("what was shown is not durable before the wait: %v", types)
	}
	w.goOn(t.Context())
	if w.count("turn.started") != 1 || w.count("turn.completed") != 1 || w.count("turn.failed") != 0 {
		t.Errorf("the log is %v", w.types())
	}
	if got := w.last("agent.message.completed").GetAgentMessageCompleted().GetText(); got != "whole" {
		t.Errorf("the answer is %q", got)
	}
	if st := w.status(); st.GetError() != nil || st.GetWaitingUntil() != nil || st.GetPhase() != agentexecutionv1.ExecutionPhase_completed {
		t.Errorf("the execution is %v", st)
	}
}

// Each recovery counts one more than the ledger has, and a whole answer begins anew. T37
func TestRecoveriesAreCountedUntilAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	calls := 0
	w.play = func(ctx context.Context, req model.Request) parts {
		calls++
		switch calls {
		case 3: // the third request gets a whole answer that asks for a tool
			return replies([]model.Part{call("c1", "read", `{"path":"a.txt"}`), end(1, 1)})(ctx, req)
		case 5:
			return replies([]model.Part{text("done"), end(1, 1)})(ctx, req)
		}
		return failing(&model.Error{Category: model.ServerError, Status: 500})
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int32{1, 2, 1} {
		if told := w.waits("provider"); told.GetRecovery() != want {
			t.Fatalf("it is recovery %d, want %d", told.GetRecovery(), want)
		}
		w.goOn(t.Context())
	}
	if w.count("turn.completed") != 1 || w.count("agent.tool.started") != 1 || calls != 5 {
		t.Errorf("after %d requests the log is %v", calls, w.types())
	}
}

// A tool that completed never runs again, however often the request after it fails.
func TestNoToolRunsAgainWithARecovery(t *testing.T) {
	t.Parallel()
	r := newRisky(false)
	w := riskyWorld(t, r, agentexecutionv1.ApprovalMode_auto)
	calls, plays := 0, w.play
	w.play = func(ctx context.Context, req model.Request) parts {
		if calls++; calls == 2 || calls == 3 {
			return failing(&model.Error{Category: model.Malformed})
		}
		return plays(ctx, req)
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.goOn(t.Context())
	w.goOn(t.Context())
	if len(r.runs) != 1 || w.count("agent.tool.completed") != 1 || w.count("turn.completed") != 1 {
		t.Errorf("the tool ran %d times, and the log is %v", len(r.runs), w.types())
	}
}

// A recovery that is used up fails the turn: not retryable, with the count and what to
// do. T41
func TestRecoveryEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = func(context.Context, model.Request) parts { return failing(&model.Error{Category: model.Network}) }
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.waits("provider")
		w.goOn(t.Context())
	}
	f := w.last("turn.failed").GetTurnFailed().GetError()
	if f.GetCode() != "upstream_connectivity_unavailable" || f.GetRetryable() || f.GetRecoveries() != 5 || w.count("turn.waiting") != 5 {
		t.Errorf("the failure is %v, and the log is %v", f, w.types())
	}
	for _, word := range []string{"5 times", "cadre recover", "new message"} {
		if !strings.Contains(f.GetMessage(), word) {
			t.Errorf("it does not say %q: %s", word, f.GetMessage())
		}
	}
	// A person who lets it go on gives it the whole budget again.
	if _, err := w.store.Recover(t.Context(), store.RecoverRequest{Session: w.session, Now: w.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := turn.Run(t.Context(), w, w.claim(""), w.opt); err != nil {
		t.Fatal(err)
	}
	if told := w.waits("provider"); told.GetRecovery() != 1 {
		t.Errorf("after a person's word it is recovery %d", told.GetRecovery())
	}
}

// What somebody has to mend first is not tried again, and neither is what asks for a
// longer wait than any.
func TestWhatDoesNotPassIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for code, err := range map[string]*model.Error{
		"provider_quota_exhausted":       {Category: model.Quota},
		"provider_safety_refusal":        {Category: model.Refused},
		"provider_request_rejected":      {Category: model.BadRequest},
		"provider_authentication_failed": {Category: model.Authentication},
		"context_too_long":               {Category: model.ContextTooLong},
		"provider_unavailable":           {Category: model.ServerError, RetryAfter: 16 * time.Minute},
	} {
		w := newWorld(t)
		w.play = func(context.Context, model.Request) parts { return failing(err) }
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.last("turn.failed").GetTurnFailed().GetError(); got.GetCode() != code || got.GetRecoveries() != 0 || w.count("turn.waiting") != 0 {
			t.Errorf("%s: the failure is %v, and the log is %v", code, got, w.types())
		}
	}
}

// A cancel ends the wait at once, and its timer with it.
func TestACancelEndsTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = faulty(limited)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	due := w.waits("provider").GetUntil().AsTime()
	if _, err := w.store.RequestCancel(t.Context(), store.CancelRequest{Session: w.session, Now: w.Now()}); err != nil {
		t.Fatal(err)
	}
	if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_cancelled {
		t.Errorf("the execution is %v", st)
	}
	if work, err := w.store.Peek(t.Context(), w.session, due); err != nil || work.State != store.WorkNone || !work.Due.IsZero() {
		t.Errorf("the session still has %+v, %v", work, err)
	}
}

// changed makes a turn whose model is another one when it is taken up again.
func changed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.definition = "one"
	w.play = faulty()
	w.accept("go on")
	first := w.claim("")
	if err := w.store.Release(t.Context(), first.Fence, "server_stopping", w.Now()); err != nil {
		t.Fatal(err)
	}
	w.definition = "two"
	return w
}

// A policy whose model is defined otherwise is recovered from before anybody is asked,
// with its own code and message, and nothing else is written. T36, T38
func TestAChangedDefinitionIsSetUpAgain(t *testing.T) {
	t.Parallel()
	w := changed(t)
	again := w.claim("")
	before := len(w.events())
	if err := turn.Run(t.Context(), w, again, w.opt); err != nil {
		t.Fatal(err)
	}
	told := w.waits("setup")
	if e := told.GetError(); e.GetCode() != "model_definition_changed" || !e.GetRetryable() || !strings.Contains(e.GetMessage(), "fake/m changed") {
		t.Errorf("it waits because of %v", e)
	}
	if wrote := w.types()[before:]; !slices.Equal(wrote, []string{"turn.waiting", "session.status.changed"}) || len(w.steps) != 0 {
		t.Errorf("an early recovery wrote %v and did %v", wrote, w.steps)
	}
	w.definition = "one" // the other release is gone
	w.goOn(t.Context())
	if w.count("turn.completed") != 1 {
		t.Errorf("the log is %v", w.types())
	}
}

// T42, T43
func TestAChangedDefinitionFailsInTheEnd(t *testing.T) {
	t.Parallel()
	w := changed(t)
	if err := turn.Run(t.Context(), w, w.claim(""), w.opt); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.waits("setup")
		w.goOn(t.Context())
	}
	st := w.status()
	f := st.GetError()
	if st.GetPhase() != agentexecutionv1.ExecutionPhase_failed || f.GetCode() != "model_definition_changed" || f.GetRetryable() || f.GetRecoveries() != 5 {
		t.Errorf("the execution is %v", st)
	}
	for _, word := range []string{"fake/m changed while the turn was under way", "set up again by itself 5 times"} {
		if !strings.Contains(f.GetMessage(), word) {
			t.Errorf("it does not say %q: %s", word, f.GetMessage())
		}
	}
	if len(w.steps) != 0 {
		t.Errorf("the model was asked: %v", w.steps)
	}
}

// A set-up that fails because nothing could be sent is made again, and fails in the end
// with the safe words alone; the exact attempt is the one that says so. T34, T42, T44, T45
func TestASetUpThatCannotBeMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = faulty()
	w.setUp = &failure.StartUnavailable{Err: errors.New("raw text of the sandbox")}
	w.accept("go on")
	first := w.claim("")
	if err := turn.Run(t.Context(), w, first, w.opt); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		w.waits("setup")
		w.goOn(t.Context())
	}
	failed := w.last("turn.failed")
	f := failed.GetTurnFailed().GetError()
	if f.GetCode() != "sandbox_command_start_unavailable" || f.GetRetryable() || f.GetRecoveries() != 5 || failed.GetGeneration() != 6 {
		t.Errorf("the failure is %v", failed)
	}
	for _, e := range w.events() {
		if strings.Contains(e.String(), "raw text") {
			t.Errorf("the sandbox's own words are in the log: %v", e)
		}
	}
	if err := turn.Run(t.Context(), w, first, w.opt); err != nil || w.count("turn.failed") != 1 {
		t.Errorf("the first attempt still has a word: %v, %v", err, w.types())
	}
}

// A failure that may pass, before the set-up is over and of no kind that is set up again,
// ends the turn. T40
func TestAFailureBeforeTheSetUpEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUp = limited
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := w.last("turn.failed").GetTurnFailed().GetError(); f.GetCode() != "provider_rate_limited" || !f.GetRetryable() || w.count("turn.waiting") != 0 {
		t.Errorf("the failure is %v, and the log is %v", f, w.types())
	}
}

// What the ledger holds of a policy is what was frozen, or the turn ends. T36
func TestADamagedPolicyEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = faulty()
	w.accept("go on")
	first := w.claim("")
	if err := w.store.Release(t.Context(), first.Fence, "server_stopping", w.Now()); err != nil {
		t.Fatal(err)
	}
	again := w.claim("")
	again.Policy.Instructions = "Do something else."
	if err := turn.Run(t.Context(), w, again, w.opt); err != nil {
		t.Fatal(err)
	}
	if f := w.status().GetError(); f.GetCode() != "execution_policy_damaged" || len(w.steps) != 0 {
		t.Errorf("the failure is %v after %v", f, w.steps)
	}
}
