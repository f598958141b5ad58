package usage

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	budgetv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/budget/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/budget/v1/budgetv1connect"
	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

// mostBudgets is how many a list shows.
const mostBudgets = 1000

// BudgetVerbs are those of the service that keeps budgets.
func BudgetVerbs(d pipeline.Deps) []pipeline.Verb {
	one := func() proto.Message { return &budgetv1.Budget{} }
	return []pipeline.Verb{
		{
			Procedure: budgetv1connect.BudgetServiceSetProcedure, Permission: "edit", Output: one,
			Steps: []pipeline.Step{authorizeBudget(d, "edit"), pipeline.Validate(d), pipeline.Recall(d), resolveSubject(d, true), putBudget(d)},
		},
		{
			Procedure: budgetv1connect.BudgetServiceGetProcedure, Permission: "view", Output: one,
			Steps: []pipeline.Step{authorizeBudget(d, "view"), pipeline.Validate(d), resolveSubject(d, false), readBudget(d)},
		},
		{
			Procedure: budgetv1connect.BudgetServiceListProcedure, Permission: "view", Output: func() proto.Message { return &budgetv1.ListBudgetsResponse{} },
			Steps: []pipeline.Step{authorizeBudget(d, "view"), pipeline.Validate(d), listBudgets(d)},
		},
		{
			Procedure: budgetv1connect.BudgetServiceDeleteProcedure, Permission: "edit", Output: one,
			Steps: []pipeline.Step{authorizeBudget(d, "edit"), pipeline.Validate(d), pipeline.Recall(d), resolveSubject(d, false), readBudget(d), deleteBudget(d)},
		},
	}
}

// named is what the requests that name one budget have in common.
type named interface {
	GetOrg() string
	GetScope() budgetv1.BudgetScope
	GetSubject() string
	GetPeriod() budgetv1.BudgetPeriod
}

// nameIn is the name of the budget that a request is about.
func nameIn(m proto.Message) named {
	if set, ok := m.(*budgetv1.SetBudgetRequest); ok {
		return set.GetBudget()
	}
	return m.(named)
}

// authorizeBudget asks for a right on the organization that a budget belongs to.
func authorizeBudget(d pipeline.Deps, permission string) pipeline.Step {
	return pipeline.Step{Name: "authorize", Do: func(ctx context.Context, r *pipeline.Request) error {
		if list, ok := r.Message.(*budgetv1.ListBudgetsRequest); ok {
			r.Org = list.GetOrg()
		} else {
			r.Org = nameIn(r.Message).GetOrg()
		}
		if r.Org == "" {
			r.Org = resource.DefaultOrg
		}
		return authz.Require(ctx, d.Authz, authz.Question{Caller: r.Caller, Permission: permission, Kind: orgKind, Org: r.Org, ID: r.Org})
	}}
}

// putBudget stores the budget and answers it with what was spent.
func putBudget(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "persist", Do: func(ctx context.Context, r *pipeline.Request) error {
		in := r.Message.(*budgetv1.SetBudgetRequest).GetBudget()
		b := store.Budget{
			BudgetKey: r.State.(store.BudgetKey), Org: r.Org, Tokens: in.GetMaxTokens(), NanoUSD: store.NanoUSD(in.GetMaxUsd()),
			Thresholds: store.DefaultThresholds, UpdatedAt: d.Now(),
		}
		if given := in.GetThresholds(); len(given) > 0 {
			b.Thresholds = nil
			for _, percent := range given {
				b.Thresholds = append(b.Thresholds, int(percent))
			}
		}
		if b.Tokens == 0 && b.NanoUSD == 0 {
			return errNoBound
		}
		var err error
		if r.Answer, err = described(ctx, d, b); err != nil {
			return err
		}
		return d.Store.PutBudget(ctx, b, r.Once)
	}}
}

// readBudget answers a budget with what was spent.
func readBudget(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "read", Do: func(ctx context.Context, r *pipeline.Request) error {
		b, err := d.Store.Budget(ctx, r.State.(store.BudgetKey))
		if err == nil && b.Org != r.Org {
			err = store.ErrNoBudget.Saying("there is no budget of %s in the organization %s", b.Name(), r.Org)
		}
		if err != nil {
			return err
		}
		r.Answer, err = described(ctx, d, b)
		return err
	}}
}

func deleteBudget(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "delete", Do: func(ctx context.Context, r *pipeline.Request) error {
		return d.Store.DeleteBudget(ctx, r.State.(store.BudgetKey), r.Once)
	}}
}

func listBudgets(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "list", Do: func(ctx context.Context, r *pipeline.Request) error {
		if err := exists(ctx, d, store.UsageQuery{Org: r.Org}); err != nil {
			return err
		}
		all, err := d.Store.ListBudgets(ctx, r.Org, nil, mostBudgets+1)
		if err != nil {
			return err
		}
		answer := &budgetv1.ListBudgetsResponse{Truncated: len(all) > mostBudgets}
		for _, b := range all[:min(len(all), mostBudgets)] {
			m, err := described(ctx, d, b)
			if err != nil {
				return err
			}
			answer.Budgets = append(answer.Budgets, m)
		}
		r.Answer = answer
		return nil
	}}
}

// described is a budget for callers, with what was spent since its period began.
func described(ctx context.Context, d pipeline.Deps, b store.Budget) (*budgetv1.Budget, error) {
	now := d.Now()
	subject := b.ID
	if b.Scope == store.ScopeAgent {
		var err error
		if subject, err = nameOf(ctx, d, b.ID); err != nil {
			return nil, err
		}
	}
	sum, err := d.Store.Spend(ctx, store.SpendQuery{Scope: b.Scope, ID: b.ID, Org: b.Org, Since: b.Period.Start(now)})
	m := &budgetv1.Budget{
		Org: b.Org, Scope: budgetv1.BudgetScope(budgetv1.BudgetScope_value[string(b.Scope)]), Subject: subject,
		Period: budgetv1.BudgetPeriod(budgetv1.BudgetPeriod_value[string(b.Period)]), MaxTokens: b.Tokens, MaxUsd: float64(b.NanoUSD) / 1e9,
		Spend: &budgetv1.BudgetSpend{
			Tokens: sum.Tokens, CostNanoUsd: sum.NanoUSD, HeldTokens: sum.HeldTokens, HeldNanoUsd: sum.HeldNanoUSD, UnpricedCalls: sum.Unpriced,
		},
		UpdatedAt: timestamppb.New(b.UpdatedAt),
	}
	for _, percent := range b.Thresholds {
		m.Thresholds = append(m.Thresholds, int32(percent))
	}
	if next := b.Period.Next(now); !next.IsZero() {
		m.ResetsAt = timestamppb.New(next)
	}
	return m, err
}
