package session

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/store"
)

// budgetOf is the budget that a session begins with; nil when its limits name none.
func budgetOf(m *sessionv1.Session, now time.Time) *store.Budget {
	limits := m.GetSpec().GetLimits()
	if limits.GetMaxTokens() == 0 && limits.GetMaxUsd() == 0 {
		return nil
	}
	return &store.Budget{
		BudgetKey: store.BudgetKey{Scope: store.ScopeSession, ID: m.GetMetadata().GetId()}, Org: m.GetMetadata().GetOrg(),
		Tokens: limits.GetMaxTokens(), NanoUSD: store.NanoUSD(limits.GetMaxUsd()), Thresholds: store.DefaultThresholds, UpdatedAt: now,
	}
}

func setGoalVerb(d pipeline.Deps) pipeline.Verb {
	return pipeline.Verb{
		Procedure: procedure("SetGoal"), Permission: "execute", Output: func() proto.Message { return &sessionv1.Goal{} },
		Steps: []pipeline.Step{
			pipeline.Authorize(d, "execute", sessionKind), pipeline.Validate(d), pipeline.Recall(d), loadSession(d),
			pipeline.AuthorizeTarget(d, "execute", sessionKind), setGoal(d),
		},
	}
}

// setGoal gives the session a goal and makes it active.
func setGoal(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "set goal", Do: func(ctx context.Context, r *pipeline.Request) error {
		in := r.Message.(*sessionv1.SetGoalRequest)
		_, err := d.Store.SetGoal(ctx, store.GoalChange{
			Session: r.Row.ID, Text: in.GetText(), By: r.Caller.ID, Once: r.Once, Now: d.Now(),
			Found: func(g store.Goal) { r.Answer = goalMessage(g) },
		})
		return err
	}}
}

// getGoal answers the session's goal.
func getGoal(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "read goal", Do: func(ctx context.Context, r *pipeline.Request) error {
		g, err := d.Store.Goal(ctx, r.Row.ID)
		r.Answer = goalMessage(g)
		return err
	}}
}

func goalMessage(g store.Goal) *sessionv1.Goal {
	return &sessionv1.Goal{
		SessionId: g.Session, Text: g.Text, Version: g.Version, Status: sessionv1.GoalStatus(sessionv1.GoalStatus_value[string(g.Status)]),
		PausedReason: g.Reason, Rationale: g.Rationale, Evidence: g.Evidence, UpdatedAt: timestamppb.New(g.UpdatedAt),
	}
}
