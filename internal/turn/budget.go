package turn

import (
	"context"
	"errors"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// Waits between tries to get a request into a budget that is full of requests under way.
const (
	firstRoom   = 50 * time.Millisecond
	longestRoom = 2 * time.Second
)

// dispatch checkpoints a request. While a budget has no room only since other requests
// are under way, it waits for them: they may use less than what is held for them.
func (t *turn) dispatch(ctx context.Context, d store.Dispatch) error {
	for wait := firstRoom; ; wait = min(2*wait, longestRoom) {
		err := t.fx.Ledger().Dispatch(ctx, t.claim.Fence, d)
		var full *store.Exhausted
		if !errors.As(err, &full) || !full.Held() {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		t.calls--
		err = t.admit(ctx) // the turn's own limits hold while it waits
		t.calls++
		if err != nil {
			return err
		}
		d.Now = t.fx.Now()
	}
}

// bounds are the limits of what this turn may use, by its agent's word.
func (t *turn) bounds() []store.Budget {
	limits := t.claim.Policy.GetLimits()
	if limits.GetMaxTurnTokens() == 0 && limits.GetMaxTurnUsd() == 0 {
		return nil
	}
	return []store.Budget{{
		BudgetKey: store.BudgetKey{Scope: store.ScopeExecution, ID: t.claim.Execution}, Org: t.claim.Org,
		Tokens: limits.GetMaxTurnTokens(), NanoUSD: store.NanoUSD(limits.GetMaxTurnUsd()),
	}}
}

// settleExhausted ends a turn for whose next request a budget has no room. It is cut
// short and no failure; an allowance pauses the session's goal too.
func (t *turn) settleExhausted(ctx context.Context, e *store.Exhausted) error {
	s := store.Settlement{Phase: agentexecutionv1.ExecutionPhase_completed, SegmentLimit: store.BudgetExhausted}
	allowance := e.Allowance()
	if allowance != nil {
		s.Pause = &store.GoalPause{Reason: store.PausedForAllowance, Rationale: allowance.GetMessage()}
	}
	s.Events = func(sum store.Totals) []*eventv1.Event {
		var events []*eventv1.Event
		if allowance != nil {
			events = append(events, t.event(&eventv1.UsageExhausted{Allowance: allowance}))
		}
		return append(events, store.CutShort(e, sum, t.fx.Now()))
	}
	return t.settle(ctx, s)
}
