package usage

import (
	"context"

	budgetv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/budget/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

var errNoBound = fault.New(fault.InvalidArgument, "BAD_BUDGET", "the budget bounds nothing: give it max_tokens, max_usd or both")

// scopes are what the contract's words mean to the store.
var scopes = map[budgetv1.BudgetScope]store.BudgetScope{
	budgetv1.BudgetScope_organization: store.ScopeOrganization, budgetv1.BudgetScope_agent: store.ScopeAgent, budgetv1.BudgetScope_session: store.ScopeSession,
	budgetv1.BudgetScope_execution: store.ScopeExecution, budgetv1.BudgetScope_member: store.ScopeMember,
}

var periods = map[budgetv1.BudgetPeriod]store.BudgetPeriod{
	budgetv1.BudgetPeriod_budget_period_unspecified: store.PeriodNone, budgetv1.BudgetPeriod_day: store.PeriodDay,
	budgetv1.BudgetPeriod_week: store.PeriodWeek, budgetv1.BudgetPeriod_month: store.PeriodMonth,
}

// resolveSubject finds what a budget bounds. With there, it must be there; a budget of
// what was deleted is found by its id.
func resolveSubject(d pipeline.Deps, there bool) pipeline.Step {
	return pipeline.Step{Name: "resolve subject", Do: func(ctx context.Context, r *pipeline.Request) error {
		in := nameIn(r.Message)
		key := store.BudgetKey{Scope: scopes[in.GetScope()], Period: periods[in.GetPeriod()]}
		if err := exists(ctx, d, store.UsageQuery{Org: r.Org}); err != nil {
			return err
		}
		var err error
		key.ID, err = subjectID(ctx, d, in, r.Org, there)
		r.State = key
		return err
	}}
}

func subjectID(ctx context.Context, d pipeline.Deps, in named, org string, there bool) (string, error) {
	subject := in.GetSubject()
	switch {
	case in.GetScope() == budgetv1.BudgetScope_organization:
		if subject != "" && subject != org {
			return "", badSubject("the budget of the organization %s is kept in it: say org %s", subject, subject)
		}
		return org, nil
	case subject == "":
		return "", badSubject("say whose budget it is: an agent, or the id of a session, an execution or a member")
	}
	var kind resource.Kind
	switch in.GetScope() {
	case budgetv1.BudgetScope_agent:
		kind = agentKind
		var err error
		if subject, err = agentID(ctx, d, subject, org); err != nil {
			return "", err
		}
	case budgetv1.BudgetScope_session:
		kind = resourcev1.ResourceKind_session
	case budgetv1.BudgetScope_execution:
		kind = resourcev1.ResourceKind_agent_execution
	default:
		return subject, nil // identities are known to whoever verifies them
	}
	if prefix := resource.Meta(kind).GetPrefix(); id.Prefix(subject) != prefix {
		return "", badSubject("%q is no id of a %s: one begins with %s_", subject, resource.MustKindName(kind), prefix)
	}
	if !there {
		return subject, nil
	}
	row, err := d.Store.Get(ctx, kind, subject)
	if err == nil && row.Org != org {
		err = resource.NotFound(kind, subject)
	}
	return subject, err
}

func badSubject(format string, args ...any) error {
	return fault.New(fault.InvalidArgument, "BAD_REFERENCE", format, args...)
}
