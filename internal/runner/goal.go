package runner

import (
	"context"
	"errors"

	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn"
)

// goal tells a turn of the goal that its session has now, when it is active.
func (r *Runner) goal(ctx context.Context, session string, p *ledgerv1.ExecutionPolicy) error {
	g, err := r.store.Goal(ctx, session)
	if errors.Is(err, store.ErrNoGoal) || err == nil && g.Status != store.GoalActive {
		return nil
	}
	if err == nil {
		p.GoalVersion, p.Instructions = g.Version, turn.WithGoal(p.GetInstructions(), g.Text)
	}
	return err
}
