package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// budgets are put, read, listed and deleted.
func budgets(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	budget := func(scope store.BudgetScope, id string, period store.BudgetPeriod) store.Budget {
		return store.Budget{
			BudgetKey: store.BudgetKey{Scope: scope, ID: id, Period: period}, Org: "default",
			Tokens: 1000, NanoUSD: 5_000_000_000, Thresholds: []int{50, 80, 100}, UpdatedAt: epoch,
		}
	}
	all := []store.Budget{
		budget(store.ScopeAgent, "agt_1", store.PeriodDay), budget(store.ScopeExecution, "aex_1", store.PeriodNone), budget(store.ScopeMember, "ida_1", store.PeriodWeek),
		budget(store.ScopeOrganization, "default", store.PeriodDay), budget(store.ScopeOrganization, "default", store.PeriodMonth), budget(store.ScopeSession, "ses_1", store.PeriodNone),
	}
	for _, b := range all {
		s.must(s.PutBudget(ctx, b, nil))
	}
	foreign := budget(store.ScopeOrganization, "other", store.PeriodDay)
	foreign.Org, foreign.Thresholds = "other", nil
	s.must(s.PutBudget(ctx, foreign, nil))
	foreign.Org = "third"
	if err := s.PutBudget(ctx, foreign, nil); fault.ReasonOf(err) != "BAD_BUDGET" {
		t.Errorf("the budget of another organization was replaced: %v", err)
	}
	got, err := s.ListBudgets(ctx, "default", nil, 10)
	s.must(err)
	if !reflect.DeepEqual(got, all) {
		t.Errorf("the budgets are %+v, want %+v", got, all)
	}
	got, err = s.ListBudgets(ctx, "default", &all[3].BudgetKey, 1)
	s.must(err)
	if len(got) != 1 || got[0].BudgetKey != all[4].BudgetKey {
		t.Errorf("the next budget is %+v, want that of the month", got)
	}
	all[0].Tokens, all[0].Thresholds = 2000, nil
	s.must(s.PutBudget(ctx, all[0], nil))
	if b, err := s.Budget(ctx, all[0].BudgetKey); err != nil || !reflect.DeepEqual(b, all[0]) {
		t.Errorf("the replaced budget is %+v, %v", b, err)
	}
	s.must(s.DeleteBudget(ctx, all[0].BudgetKey, nil))
	for _, err := range []error{s.DeleteBudget(ctx, all[0].BudgetKey, nil), second(s.Budget(ctx, all[0].BudgetKey))} {
		if !errors.Is(err, store.ErrNoBudget) {
			t.Errorf("a budget that is gone gave %v", err)
		}
	}
	for what, change := range map[string]func(*store.Budget){
		"scope": func(b *store.Budget) { b.Scope = "planet" }, "period": func(b *store.Budget) { b.Period = "year" }, "id": func(b *store.Budget) { b.ID = "" },
		"bound": func(b *store.Budget) { b.Tokens = -1 }, "order": func(b *store.Budget) { b.Thresholds = []int{80, 50} }, "range": func(b *store.Budget) { b.Thresholds = []int{101} },
	} {
		b := budget(store.ScopeAgent, "agt_2", store.PeriodDay)
		change(&b)
		if err := s.PutBudget(ctx, b, nil); fault.ReasonOf(err) != "BAD_BUDGET" {
			t.Errorf("a wrong %s gave %v", what, err)
		}
	}
}

// spends: what was settled and what is held, for each scope, since a time.
func spends(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	a, b := s.claimed("one"), s.claimed("two")
	next := epoch.Add(24 * time.Hour)
	hold := &messagev1.Usage{InputTokens: 100, OutputTokens: 50, CostNanoUsd: 900}
	s.must(s.Dispatch(ctx, a.Fence, store.Dispatch{Number: 1, Hold: hold, Model: "m", Now: epoch}))
	s.must(s.Respond(ctx, a.Fence, store.Response{Number: 1, Item: assistant("hm"), Usage: &messagev1.Usage{InputTokens: 7, OutputTokens: 3, CostNanoUsd: 10}, Now: epoch}))
	s.must(s.Dispatch(ctx, a.Fence, store.Dispatch{Number: 2, Hold: hold, Model: "m", Member: "ida_1", Now: epoch}))
	s.must(s.Respond(ctx, a.Fence, store.Response{Number: 2, Item: assistant("hm"), Usage: &messagev1.Usage{InputTokens: 20, UnpricedCalls: 1}, Now: next}))
	s.must(s.Dispatch(ctx, b.Fence, store.Dispatch{Number: 1, Hold: hold, Model: "m", Now: next}))

	both := store.Spend{Tokens: 30, NanoUSD: 10, HeldTokens: 150, HeldNanoUSD: 900, Unpriced: 1}
	mine := store.Spend{Tokens: 30, NanoUSD: 10, Unpriced: 1}
	for _, c := range []struct {
		scope store.BudgetScope
		id    string
		since time.Time
		want  store.Spend
	}{
		{store.ScopeOrganization, "default", time.Time{}, both},
		{store.ScopeOrganization, "other", time.Time{}, store.Spend{}},
		{store.ScopeAgent, "agt_1", epoch, both},
		{store.ScopeSession, a.Session, time.Time{}, mine},
		{store.ScopeExecution, b.Execution, time.Time{}, store.Spend{HeldTokens: 150, HeldNanoUSD: 900}},
		{store.ScopeAgent, "agt_1", next, store.Spend{Tokens: 20, HeldTokens: 150, HeldNanoUSD: 900, Unpriced: 1}},
		{store.ScopeAgent, "agt_1", next.Add(1), store.Spend{}},
		{store.ScopeMember, "ida_1", time.Time{}, store.Spend{Tokens: 20, Unpriced: 1}},
	} {
		got, err := s.Spend(ctx, store.SpendQuery{Scope: c.scope, ID: c.id, Since: c.since})
		s.must(err)
		if got != c.want {
			t.Errorf("%s %s since %v spent %+v, want %+v", c.scope, c.id, c.since, got, c.want)
		}
	}
	s.must(s.Settle(ctx, b.Fence, completed())) // nobody saw its answer: the hold is spent
	if got, err := s.Spend(ctx, store.SpendQuery{Scope: store.ScopeSession, ID: b.Session}); err != nil || got != (store.Spend{Tokens: 150, NanoUSD: 900}) {
		t.Errorf("after its end the session spent %+v, %v", got, err)
	}
	if _, err := s.Spend(ctx, store.SpendQuery{Scope: "planet", ID: "x"}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("an unknown scope gave %v", err)
	}
}
