package turn

import (
	"context"
	"errors"
	"strings"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn/failure"
	"github.com/cadre-dev/cadre/internal/turn/handoff"
)

// finish looks at the final answer: a blank one after tools or a completed goal is asked for again,
// once per execution; one that stays blank is told as a limit.
func (t *turn) finish(ctx context.Context) (step, error) {
	last := t.history[len(t.history)-1]
	reply, limit := replyText(last), finishLimit(last)
	ending := handoff.Ending{Reply: &reply, Tools: t.tooled, GoalCompleted: t.reached, Interrupted: limit != ""}
	switch {
	case ending.Needed() && !t.handedOff():
		return t.handOff(ctx)
	case limit == "" && ending.Blank():
		limit = "empty_final_reply"
	case limit == "":
		if again, err := t.checkOutput(ctx, reply); again != nil || err != nil {
			return again, err
		}
	}
	return nil, t.settleCompleted(ctx, limit)
}

// handedOff tells whether this execution was asked for its reply before. The ledger knows
// it also when the item is no longer in the history that the model is shown.
func (t *turn) handedOff() bool {
	return t.claim.HandedOff || handoff.Asked(t.history, t.claim.Execution)
}

// handOff asks the model for the reply that is owed. The item is durable before the model
// is asked, so that no later attempt asks again.
func (t *turn) handOff(ctx context.Context) (step, error) {
	item := handoff.Item(t.claim.Execution)
	if err := t.fx.Ledger().AddItem(ctx, t.claim.Fence, item, true); err != nil {
		return nil, err
	}
	t.claim.HandedOff = true
	t.history = append(t.history, item)
	return t.fit, nil
}

// finishLimit names why the model itself stopped early; "" when it did not.
func finishLimit(item *messagev1.Item) string {
	switch reason := item.GetAssistant().GetFinishReason(); reason {
	case "", "stop", "tool_calls":
		return ""
	case "length":
		return "max_output_tokens"
	default: // a provider's own word: nobody knows that the answer is whole
		return "finish_reason_" + word(reason)
	}
}

// word makes a short word of a provider's own: lower-case letters, digits and `_`.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, s)
	return s[:min(len(s), 60)]
}

func replyText(item *messagev1.Item) string {
	var b strings.Builder
	for _, part := range item.GetAssistant().GetParts() {
		b.WriteString(part.GetText())
	}
	return b.String()
}

func (t *turn) settleCompleted(ctx context.Context, limit string) error {
	return t.settle(ctx, store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_completed, SegmentLimit: limit,
		Events: func(sum store.Totals) []*eventv1.Event {
			return []*eventv1.Event{store.Completed(limit, sum, t.fx.Now())}
		},
	})
}

// settleCancelled ends the turn once nothing of it is alive.
func (t *turn) settleCancelled(ctx context.Context) error {
	if err := t.endProcesses(ctx); errors.Is(err, store.ErrFenced) {
		return nil
	} else if err != nil {
		return err
	}
	t.settleFiles(ctx)
	return t.settle(ctx, store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_cancelled,
		Events: func(sum store.Totals) []*eventv1.Event {
			return []*eventv1.Event{store.Cancelled(sum, t.fx.Now())}
		},
	})
}

func (t *turn) settleFailed(ctx context.Context, f failure.Failure, err error) error {
	told := f.Proto()
	told.Recoveries = t.claim.Recoveries.Count + t.claim.Recoveries.Overloads
	t.settleFiles(ctx)
	t.fx.Log().WarnContext(ctx, "turn failed", "execution", t.claim.Execution, "code", f.Code, "recoveries", told.GetRecoveries(), "error", failure.Loggable(err))
	return t.settle(ctx, store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_failed, Error: told,
		Events: func(sum store.Totals) []*eventv1.Event {
			now := t.fx.Now()
			return []*eventv1.Event{t.event(&eventv1.TurnFailed{Error: told, Usage: sum.Usage, DurationMs: store.Elapsed(sum.StartedAt, now)})}
		},
	})
}

// waitForPerson ends the attempt with a call whose outcome nobody knows.
func (t *turn) waitForPerson(ctx context.Context) (step, error) {
	return nil, t.settle(ctx, store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_waiting, WaitingFor: store.WaitOutcomeUnknown,
		Events: func(store.Totals) []*eventv1.Event {
			return []*eventv1.Event{
				t.event(&eventv1.AgentToolOutcomeUnknown{CallId: t.unknown.id(), Name: t.unknown.Call.GetName(), Message: unknownText}),
				t.event(&eventv1.TurnWaiting{WaitingFor: store.WaitOutcomeUnknown}),
			}
		},
	})
}
