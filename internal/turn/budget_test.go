package turn_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn"
)

// money is what a world knows of budgets and goals.
type money struct {
	goal     int64           // the version of the session's goal that the turn is told of
	refused  func()          // called when a request was not let go
	unpriced bool            // nobody knows what the model costs
	told     []time.Duration // that requests told of when they were over
}

func (w *world) Cost(_ string, u *messagev1.Usage) {
	if w.unpriced {
		u.UnpricedCalls = 1
		return
	}
	u.CostNanoUsd = 10 * u.GetOutputTokens()
}

func (w *world) Enter(context.Context, string, string) (func(time.Duration), error) {
	return func(wait time.Duration) { w.told = append(w.told, wait) }, nil
}

// budget sets one of a hundred tokens.
func (w *world) budget(scope store.BudgetScope, id string, period store.BudgetPeriod) {
	w.t.Helper()
	b := store.Budget{BudgetKey: store.BudgetKey{Scope: scope, ID: id, Period: period}, Org: "default", Tokens: 100, UpdatedAt: w.Now()}
	if err := w.store.PutBudget(w.t.Context(), b, nil); err != nil {
		w.t.Fatal(err)
	}
}

// setGoal gives the session a goal that the next claim tells of.
func (w *world) setGoal(text string) {
	w.t.Helper()
	g, err := w.store.SetGoal(w.t.Context(), store.GoalChange{Session: w.session, Text: text, Now: w.Now()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.goal = g.Version
}

func (w *world) readGoal() store.Goal {
	w.t.Helper()
	g, err := w.store.Goal(w.t.Context(), w.session)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

// spends plays a model that uses a hundred tokens for a first answer with a tool call.
func (w *world) spends() {
	w.play = replies([]model.Part{call("c1", "read", `{"path":"a.txt"}`), end(60, 40)}, []model.Part{text("done"), end(1, 1)})
}

// again accepts another input in the session.
func (w *world) again(text string) {
	w.t.Helper()
	w.execution = id.New("aex")
	now := w.Now()
	m := &agentexecutionv1.AgentExecution{
		Metadata: &resourcev1.Metadata{Id: w.execution, Org: "default"},
		Spec:     &agentexecutionv1.AgentExecutionSpec{SessionId: w.session, AgentId: "agt_1", Model: "fake/m"},
	}
	_, err := w.store.Accept(w.t.Context(), store.Accept{
		Session: w.session, Execution: rowOf(resourcev1.ResourceKind_agent_execution, m, store.ExecutionIndex, now), Now: now,
		Input: store.Input{ID: "inp_2", Item: &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text}}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// tail are the types of the newest events.
func (w *world) tail(n int) []string {
	all := w.types()
	return all[max(0, len(all)-n):]
}

// T24, T25, T26, T29
func TestAnAllowanceThatIsUsedUpEndsTheTurnAndPausesTheGoal(t *testing.T) {
	t.Parallel()
	for scope, id := range map[store.BudgetScope]string{store.ScopeOrganization: "default", store.ScopeMember: "ida_1"} {
		w := newWorld(t)
		w.spends()
		w.accept("go on")
		w.setGoal("all is done")
		w.budget(scope, id, store.PeriodMonth)
		if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
			t.Fatal(err)
		}
		if got, want := w.tail(5), []string{"agent.tool.failed", "usage.exhausted", "turn.completed", "session.status.changed", "goal.paused"}; !slices.Equal(got, want) {
			t.Fatalf("%s: the log ends in %v, want %v", scope, got, want)
		}
		a := w.last("usage.exhausted").GetUsageExhausted().GetAllowance()
		if a.GetCode() != "allowance_exhausted" || a.GetScope() != string(scope) || a.GetSubjectId() != id || a.GetPeriod() != "month" || !strings.Contains(a.GetMessage(), "100 tokens of 100 tokens") ||
			!a.GetResetsAt().AsTime().Equal(store.PeriodMonth.Next(w.Now())) {
			t.Errorf("%s: the allowance is told as %v", scope, a)
		}
		c := w.last("turn.completed").GetTurnCompleted()
		if c.GetSegmentLimit() != "budget_exhausted" || c.GetDetail() != a.GetMessage() || !proto.Equal(c.GetAllowance(), a) {
			t.Errorf("%s: the turn ended as %v", scope, c)
		}
		if got := w.last("session.status.changed").GetSessionStatusChanged().GetPhase(); got != "idle" {
			t.Errorf("%s: the session is %s", scope, got)
		}
		if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_completed || st.GetModelCalls() != 1 {
			t.Errorf("%s: the execution is %v", scope, st)
		}
		if s, err := w.store.Session(t.Context(), w.session); err != nil || s.Active != "" {
			t.Errorf("%s: %q is active, %v", scope, s.Active, err)
		}
		if g := w.readGoal(); g.Status != store.GoalPaused || g.Reason != "allowance" || g.Rationale != a.GetMessage() || g.Version != 2 || w.count("goal.paused") != 1 {
			t.Errorf("%s: the goal is %+v", scope, g)
		}
	}
}

// T27
func TestABudgetThatIsNoAllowanceEndsTheTurnAndLeavesTheGoal(t *testing.T) {
	t.Parallel()
	for _, scope := range []store.BudgetScope{store.ScopeSession, store.ScopeAgent, store.ScopeExecution, store.ScopeOrganization} {
		w := newWorld(t)
		w.spends()
		w.accept("go on")
		w.setGoal("all is done")
		w.budget(scope, map[store.BudgetScope]string{
			store.ScopeSession: w.session, store.ScopeAgent: "agt_1", store.ScopeExecution: w.execution, store.ScopeOrganization: "default",
		}[scope], store.PeriodNone)
		if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
			t.Fatal(err)
		}
		if got, want := w.tail(3), []string{"agent.tool.failed", "turn.completed", "session.status.changed"}; !slices.Equal(got, want) {
			t.Fatalf("%s: the log ends in %v, want %v", scope, got, want)
		}
		c := w.last("turn.completed").GetTurnCompleted()
		if c.GetSegmentLimit() != "budget_exhausted" || c.GetAllowance() != nil || !strings.Contains(c.GetDetail(), "the budget of "+string(scope)) {
			t.Errorf("%s: the turn ended as %v", scope, c)
		}
		if g := w.readGoal(); g.Status != store.GoalActive || g.Version != 1 {
			t.Errorf("%s: the goal is %+v", scope, g)
		}
	}
}

// T28
func TestARefusedBudgetSettlementWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.spends()
	w.accept("go on")
	w.setGoal("all is done")
	w.budget(store.ScopeOrganization, "default", store.PeriodMonth)
	first := w.claim("")
	w.refused = func() {
		w.refused = nil
		w.claim(first.Attempt)
	}
	if err := turn.Run(t.Context(), w, first, turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.refused != nil {
		t.Fatal("the request was not refused")
	}
	for _, e := range w.events() {
		if e.GetType() == "usage.exhausted" || e.GetType() == "turn.completed" {
			if e.GetAssociation().String() != "late_rejected" {
				t.Errorf("the lost attempt wrote %v", e)
			}
		}
	}
	if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_running || st.GetGeneration() != 2 || w.readGoal().Status != store.GoalActive || w.count("goal.paused") != 0 {
		t.Errorf("the execution is %v, the goal %+v", st, w.readGoal())
	}
}

// T30
func TestTheMostModelCallsIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.spends()
	w.limits = &agentv1.AgentLimits{MaxModelCalls: 1}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := w.tail(3), []string{"agent.tool.failed", "turn.completed", "session.status.changed"}; !slices.Equal(got, want) {
		t.Fatalf("the log ends in %v, want %v", got, want)
	}
	if got := w.last("turn.completed").GetTurnCompleted().GetSegmentLimit(); got != "max_model_calls" || w.last("session.status.changed").GetSessionStatusChanged().GetPhase() != "idle" {
		t.Errorf("the limit is %q", got)
	}
	before := w.session
	w.limits = nil
	w.again("and now")
	c := w.claim("")
	if len(c.History) != 4 || c.History[1].GetAssistant() == nil || c.History[2].GetToolResult() == nil || w.session != before {
		t.Errorf("the next turn has the history %v", c.History)
	}
}

func TestATurnKeepsToTheLimitsOfItsAgent(t *testing.T) {
	t.Parallel()
	for what, limits := range map[string]*agentv1.AgentLimits{"100 tokens of 100 tokens": {MaxTurnTokens: 100}, "$0.0000004 of $0.0000004": {MaxTurnUsd: 4e-7}} {
		w := newWorld(t)
		w.spends()
		w.limits = limits
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c := w.last("turn.completed").GetTurnCompleted(); c.GetSegmentLimit() != "budget_exhausted" || !strings.Contains(c.GetDetail(), what) || c.GetModelCalls() != 1 {
			t.Errorf("the turn ended as %v, want it to tell of %s", c, what)
		}
	}
}

func TestAModelWithoutAPriceIsRefusedUnderABoundInMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.spends()
	w.unpriced = true
	w.limits = &agentv1.AgentLimits{MaxTurnUsd: 5}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := w.status().GetError(); e.GetCode() != "model_unpriced" || e.GetRetryable() || !strings.Contains(e.GetMessage(), "fake/m") || len(w.steps) != 1 {
		t.Errorf("the error is %v after %v", e, w.steps)
	}
}

// A budget that is full of requests under way ends no turn: the turn waits for them.
func TestATurnWaitsForRequestsUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.spends()
	w.budget(store.ScopeOrganization, "default", store.PeriodMonth)
	w.accept("another session")
	other := w.claim("")
	hold := &messagev1.Usage{InputTokens: 5000}
	if err := w.store.Dispatch(t.Context(), other.Fence, store.Dispatch{Number: 1, Hold: hold, Now: w.Now()}); err != nil {
		t.Fatal(err)
	}
	w.accept("go on")
	waited := 0
	w.refused = func() {
		if waited++; waited == 1 {
			err := w.store.Respond(t.Context(), other.Fence, store.Response{Number: 1, Usage: &messagev1.Usage{InputTokens: 1}, Now: w.Now()})
			if err != nil {
				t.Error(err)
			}
		}
	}
	if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := w.last("turn.completed").GetTurnCompleted(); waited != 2 || got.GetModelCalls() != 1 || got.GetSegmentLimit() != "budget_exhausted" {
		t.Errorf("after %d refusals the turn ended as %v", waited, got)
	}
}

// What a provider that limits requests asks one turn counts for all.
func TestARequestTellsHowLongTheProviderAsksToWait(t *testing.T) {
	t.Parallel()
	for category, want := range map[model.Category]time.Duration{model.RateLimited: time.Hour, model.Overloaded: time.Hour, model.BadRequest: 0} {
		w := newWorld(t)
		w.play = func(context.Context, model.Request) parts {
			return failing(&model.Error{Category: category, RetryAfter: time.Hour})
		}
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.told, []time.Duration{want}) {
			t.Errorf("after %s it told %v", category, w.told)
		}
	}
}
