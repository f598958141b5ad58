package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// cap100 is a budget of a hundred tokens.
func cap100(scope store.BudgetScope, id string, period store.BudgetPeriod) store.Budget {
	return store.Budget{BudgetKey: store.BudgetKey{Scope: scope, ID: id, Period: period}, Org: "default", Tokens: 100, UpdatedAt: epoch}
}

// wants is a request that holds so many tokens.
func wants(number int32, tokens int64, at time.Time) store.Dispatch {
	return store.Dispatch{Number: number, Model: "m", Member: "ida_1", Now: at, Hold: &messagev1.Usage{InputTokens: tokens - 1, OutputTokens: 1, CostNanoUsd: tokens}}
}

func answered(number int32, tokens int64, at time.Time) store.Response {
	return store.Response{Number: number, Item: assistant("hm"), Now: at, Usage: &messagev1.Usage{InputTokens: tokens - 1, OutputTokens: 1, CostNanoUsd: tokens}}
}

// refused reads the error of a Dispatch; nil when it is another one.
func refused(err error) *store.Exhausted {
	var e *store.Exhausted
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// admissions: a request is let go while less than the bound is used or held, whatever the
// budget's scope; a refusal writes nothing and says whether it is for good.
func admissions(t *testing.T, open Open) {
	for _, scope := range []store.BudgetScope{store.ScopeExecution, store.ScopeSession, store.ScopeAgent, store.ScopeOrganization, store.ScopeMember} {
		t.Run(string(scope), func(t *testing.T) {
			t.Parallel()
			s := setup(t, open)
			ctx := t.Context()
			c := s.claimed("one")
			id := map[store.BudgetScope]string{
				store.ScopeExecution: c.Execution, store.ScopeSession: c.Session, store.ScopeAgent: "agt_1", store.ScopeOrganization: "default", store.ScopeMember: "ida_1",
			}[scope]
			s.must(s.PutBudget(ctx, cap100(scope, "other", store.PeriodDay), nil))
			s.must(s.PutBudget(ctx, cap100(scope, id, store.PeriodDay), nil))
			s.must(s.Dispatch(ctx, c.Fence, wants(1, 150, epoch)))
			before := len(s.log(c.Session))
			e := refused(s.Dispatch(ctx, c.Fence, wants(2, 1, epoch)))
			if e == nil || !e.Held() || e.Spend.HeldTokens != 150 || e.Spend.Tokens != 0 || e.Budget.ID != id {
				t.Fatalf("beside the hold of another request it gave %+v", e)
			}
			s.must(s.Respond(ctx, c.Fence, answered(1, 99, epoch)))
			s.must(s.Dispatch(ctx, c.Fence, wants(2, 150, epoch)))
			s.must(s.Respond(ctx, c.Fence, answered(2, 1, epoch)))
			e = refused(s.Dispatch(ctx, c.Fence, wants(3, 1, epoch)))
			if e == nil || e.Held() || e.Spend.Tokens != 100 || !e.ResetsAt.Equal(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)) {
				t.Fatalf("at its bound it gave %+v", e)
			}
			if e.Budget.Allowance() != (scope == store.ScopeOrganization || scope == store.ScopeMember) {
				t.Errorf("whether it is an allowance: %t", e.Budget.Allowance())
			}
			if after := len(s.log(c.Session)); after != before {
				t.Errorf("%d events were written", after-before)
			}
			if got, err := s.Spend(ctx, store.SpendQuery{Scope: scope, ID: id}); err != nil || got != (store.Spend{Tokens: 100, NanoUSD: 100}) {
				t.Errorf("it spent %+v, %v", got, err)
			}
			s.must(s.Dispatch(ctx, c.Fence, wants(3, 1, epoch.Add(24*time.Hour)))) // the next day
		})
	}
	t.Run("money", func(t *testing.T) { t.Parallel(); admitsMoney(t, open) })
	t.Run("limits of its own", func(t *testing.T) { t.Parallel(); admitsLimits(t, open) })
	t.Run("lost", func(t *testing.T) { t.Parallel(); admitsLost(t, open) })
	t.Run("given back", func(t *testing.T) { t.Parallel(); admitsGivenBack(t, open) })
}

// admitsMoney: a bound in money refuses what has no price, unless tokens are bounded too.
func admitsMoney(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	b := cap100(store.ScopeOrganization, "default", store.PeriodMonth)
	b.Tokens, b.NanoUSD = 0, 500
	s.must(s.PutBudget(ctx, b, nil))
	unpriced := wants(1, 10, epoch)
	unpriced.Hold = &messagev1.Usage{InputTokens: 10, UnpricedCalls: 1}
	if err := s.Dispatch(ctx, c.Fence, unpriced); !errors.Is(err, store.ErrUnpriced) || fault.From(err).Meta["model"] != "m" {
		t.Fatalf("a request without a price gave %v", err)
	}
	b.Tokens = 1000
	s.must(s.PutBudget(ctx, b, nil))
	s.must(s.Dispatch(ctx, c.Fence, unpriced))
	s.must(s.Respond(ctx, c.Fence, answered(1, 500, epoch)))
	if e := refused(s.Dispatch(ctx, c.Fence, wants(2, 1, epoch))); e == nil || e.Held() || e.Spend.NanoUSD != 500 {
		t.Errorf("at the bound in money it gave %+v", e)
	}
	b.NanoUSD, b.Org = 501, "default"
	s.must(s.PutBudget(ctx, b, nil))
	s.must(s.Dispatch(ctx, c.Fence, wants(2, 1, epoch)))
}

// admitsLimits: bounds that the request brings itself count like budgets that are kept.
func admitsLimits(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	limited := func(number int32) store.Dispatch {
		d := wants(number, 10, epoch)
		d.Limits = []store.Budget{cap100(store.ScopeExecution, c.Execution, store.PeriodNone)}
		return d
	}
	s.must(s.Dispatch(ctx, c.Fence, limited(1)))
	s.must(s.Respond(ctx, c.Fence, answered(1, 100, epoch)))
	if e := refused(s.Dispatch(ctx, c.Fence, limited(2))); e == nil || e.Budget.Scope != store.ScopeExecution || !e.ResetsAt.IsZero() || e.Allowance() != nil {
		t.Errorf("at the turn's own bound it gave %+v", e)
	}
	// A member's budget in another organization bounds nothing here.
	foreign := cap100(store.ScopeMember, "ida_1", store.PeriodNone)
	foreign.Org = "other"
	s.must(s.PutBudget(ctx, foreign, nil))
	s.must(s.Dispatch(ctx, c.Fence, wants(2, 1, epoch)))
	s.must(s.Respond(ctx, c.Fence, answered(2, 1, epoch)))
	// What is used up for good counts before what others hold.
	other := s.claimed("two")
	s.must(s.Dispatch(ctx, other.Fence, wants(1, 500, epoch)))
	s.must(s.PutBudget(ctx, store.Budget{BudgetKey: store.BudgetKey{Scope: store.ScopeAgent, ID: "agt_1"}, Org: "default", Tokens: 150}, nil))
	s.must(s.PutBudget(ctx, store.Budget{BudgetKey: store.BudgetKey{Scope: store.ScopeOrganization, ID: "default"}, Org: "default", Tokens: 200}, nil))
	if e := refused(s.Dispatch(ctx, c.Fence, limited(3))); e == nil || e.Held() {
		t.Errorf("of two refusals it gave %+v", e)
	}
}

// admitsLost: the hold of a request whose attempt was lost stays used.
func admitsLost(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	s.must(s.PutBudget(ctx, cap100(store.ScopeOrganization, "default", store.PeriodDay), nil))
	s.must(s.Dispatch(ctx, c.Fence, wants(1, 120, epoch)))
	again, err := s.Claim(ctx, claimOf(c.Session, c.Execution, c.Attempt))
	s.must(err)
	if e := refused(s.Dispatch(ctx, again.Fence, wants(2, 1, epoch))); e == nil || e.Held() || e.Spend.Tokens != 120 {
		t.Errorf("after the loss it gave %+v", e)
	}
}

// admitsGivenBack: what a request of an attempt that ended holds is used at once, before
// anybody claims its execution: no other turn waits for an answer that never comes.
func admitsGivenBack(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	released, disowned := s.claimed("one"), s.claimed("two")
	for _, c := range []store.Claimed{released, disowned} {
		s.must(s.Dispatch(ctx, c.Fence, wants(1, 60, epoch)))
	}
	s.must(s.PutBudget(ctx, cap100(store.ScopeOrganization, "default", store.PeriodNone), nil))
	s.must(s.Release(ctx, released.Fence, "server_stopping", epoch))
	_, err := s.Disown(ctx, "boot_2", "", epoch)
	s.must(err)
	other := s.claimed("three")
	if e := refused(s.Dispatch(ctx, other.Fence, wants(1, 1, epoch))); e == nil || e.Held() || e.Spend.Tokens != 120 {
		t.Errorf("it gave %+v", e)
	}
	for _, c := range []store.Claimed{released, disowned} {
		if st := s.status(c.Execution); st.GetModelCalls() != 1 || !st.GetUsage().GetEstimated() || st.GetUsage().GetInputTokens() != 59 {
			t.Errorf("the execution shows %v", st)
		}
	}
}

// admitsMany: of many streams at once so many requests are let go as there is room for,
// also when some of them are lost with their attempts: what was held for those stays used.
func admitsMany(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	const streams, each, bound = 50, 10, 200
	b := cap100(store.ScopeOrganization, "default", store.PeriodMonth)
	b.Tokens, b.Thresholds = bound, []int{50, 100}
	s.must(s.PutBudget(ctx, b, nil))
	claims := make([]store.Claimed, streams)
	for i := range claims {
		claims[i] = s.claimed(fmt.Sprint(i))
	}
	var admitted atomic.Int32
	var all sync.WaitGroup
	for i, c := range claims {
		all.Go(func() {
			for number := int32(1); ; {
				err := s.Dispatch(ctx, c.Fence, wants(number, each, epoch))
				e := refused(err)
				switch {
				case err == nil:
					admitted.Add(1)
					if i%3 == 0 {
						if c, err = s.Claim(ctx, claimOf(c.Session, c.Execution, c.Attempt)); err != nil {
							t.Error(err)
							return
						}
					} else if err := s.Respond(ctx, c.Fence, answered(number, each, epoch)); err != nil {
						t.Error(err)
						return
					}
					number++
				case e == nil:
					t.Error(err)
					return
				case !e.Held():
					return
				}
			}
		})
	}
	all.Wait()
	got, err := s.Spend(ctx, store.SpendQuery{Scope: store.ScopeOrganization, ID: "default"})
	s.must(err)
	if admitted.Load() != bound/each || got != (store.Spend{Tokens: bound, NanoUSD: bound}) {
		t.Errorf("%d requests were let go and spent %+v, want %d and %d tokens", admitted.Load(), got, bound/each, bound)
	}
	told := map[int32]int{}
	for _, c := range claims {
		for _, e := range s.log(c.Session) {
			if e.GetType() == "usage.threshold" {
				told[e.GetUsageThreshold().GetPercent()]++
			}
		}
	}
	if told[50] != 1 || told[100] != 1 || len(told) != 2 {
		t.Errorf("the thresholds were told %v times, want each once", told)
	}
}

// thresholds are told once in each period, in the log of the session whose request
// reached them.
func thresholds(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	b := cap100(store.ScopeAgent, "agt_1", store.PeriodDay)
	b.NanoUSD, b.Thresholds = 1000, []int{10, 50, 80}
	s.must(s.PutBudget(ctx, b, nil))
	number := int32(0)
	spend := func(tokens int64, at time.Time) []int32 {
		t.Helper()
		number++
		before := len(s.log(c.Session))
		s.must(s.Dispatch(ctx, c.Fence, wants(number, 5, at)))
		s.must(s.Respond(ctx, c.Fence, answered(number, tokens, at)))
		var told []int32
		for _, e := range s.log(c.Session)[before:] {
			if v := e.GetUsageThreshold(); v != nil {
				told = append(told, v.GetPercent())
			}
		}
		return told
	}
	next := epoch.Add(24 * time.Hour)
	for i, step := range []struct {
		tokens int64
		at     time.Time
		want   []int32
	}{
		{9, epoch, nil}, {1, epoch, []int32{10}}, {75, epoch, []int32{50, 80}}, {10, epoch, nil}, {12, next, []int32{10}}, {1, next, nil},
	} {
		if got := spend(step.tokens, step.at); !slices.Equal(got, step.want) {
			t.Errorf("step %d told %v, want %v", i, got, step.want)
		}
	}
	var first *eventv1.UsageThreshold
	for _, e := range s.log(c.Session) {
		if first == nil {
			first = e.GetUsageThreshold()
		}
	}
	if first.GetScope() != "agent" || first.GetSubjectId() != "agt_1" || first.GetPeriod() != "day" || first.GetUnit() != "tokens" || first.GetUsed() != 10 || first.GetBound() != 100 ||
		!first.GetResetsAt().AsTime().Equal(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the first was told as %v", first)
	}
	s.must(s.PutBudget(ctx, b, nil)) // a budget that is set anew is told anew
	if got := spend(1, next); !slices.Equal(got, []int32{10}) {
		t.Errorf("after it was set anew it told %v", got)
	}
}

// ownBudgets: a session's own budget is made and deleted with it, an agent's and an
// organization's deleted with them.
func ownBudgets(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	n := newSession("")
	own := cap100(store.ScopeSession, n.Row.ID, store.PeriodNone)
	n.Budget = &own
	a := input(n, "", "hello")
	_, err := s.Accept(ctx, a)
	s.must(err)
	if b, err := s.Budget(ctx, own.BudgetKey); err != nil || b.Tokens != 100 {
		t.Fatalf("the session's budget is %+v, %v", b, err)
	}
	c, err := s.Claim(ctx, claimOf(a.Session, a.Execution.ID, ""))
	s.must(err)
	turn := cap100(store.ScopeExecution, c.Execution, store.PeriodNone)
	s.must(s.PutBudget(ctx, turn, nil))
	s.must(s.Settle(ctx, c.Fence, completed()))
	_, err = s.DeleteSession(ctx, a.Session, nil)
	s.must(err)
	agent := row("spender", "x")
	s.must(s.Create(ctx, agent, nil))
	org := store.Row{Kind: resourcev1.ResourceKind_organization, ID: "harbor", Slug: "harbor", CreatedAt: epoch, UpdatedAt: epoch, Data: []byte("x")}
	s.must(s.Create(ctx, org, nil))
	ofAgent, ofOrg, ofMember := cap100(store.ScopeAgent, agent.ID, store.PeriodDay), cap100(store.ScopeOrganization, "harbor", store.PeriodDay), cap100(store.ScopeMember, "ida_9", store.PeriodDay)
	ofOrg.Org, ofMember.Org = "harbor", "harbor"
	for _, b := range []store.Budget{ofAgent, ofOrg, ofMember} {
		s.must(s.PutBudget(ctx, b, nil))
	}
	for _, r := range []store.Row{agent, org} {
		_, err := s.Delete(ctx, r.Kind, r.ID, nil, nil)
		s.must(err)
	}
	for _, k := range []store.BudgetKey{own.BudgetKey, turn.BudgetKey, ofAgent.BudgetKey, ofOrg.BudgetKey, ofMember.BudgetKey} {
		if _, err := s.Budget(ctx, k); !errors.Is(err, store.ErrNoBudget) {
			t.Errorf("after the deletion the budget of %s gave %v", k.Name(), err)
		}
	}
}
