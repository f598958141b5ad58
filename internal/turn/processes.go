package turn

import (
	"context"
	"time"
)

// proofTime is how long the end of a cancelled turn's processes may take before
// the turn says who is still alive.
const proofTime = 5 * time.Second

// endProcesses ends what the turn's calls started and returns when it is proven
// gone. Until then the turn is cancelling, and names what is alive.
func (t *turn) endProcesses(ctx context.Context) error {
	for {
		err := t.tryEnd(ctx)
		if err == nil {
			return nil
		}
		t.fx.Log().ErrorContext(ctx, "processes of a cancelled turn are still alive", "execution", t.claim.Execution, "error", err)
		if err := t.fx.Ledger().Cancelling(ctx, t.claim.Fence, []string{err.Error()}, t.fx.Now()); err != nil {
			return err
		}
	}
}

func (t *turn) tryEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	return t.fx.EndProcesses(ctx, t.claim.Session, t.claim.Execution)
}
