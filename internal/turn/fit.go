package turn

import (
	"context"
	"errors"
	"slices"
	"strings"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn/compaction"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// fit is the phase before each request: a history that comes near to the model's window, or
// to what is sent at most, is made shorter; one that is beyond is not sent.
func (t *turn) fit(context.Context) (step, error) {
	if err := t.readable(); err != nil {
		return nil, err
	}
	l := t.length()
	if reason := l.Due(t.window()); reason != "" && !t.fresh() {
		if plan, ok := compaction.Split(t.history); ok {
			return t.compact(plan, reason), nil
		}
	}
	if !l.Sendable() {
		return nil, &failure.HistoryLimit{Items: l.Items, MostItems: compaction.MostItems, Bytes: l.Bytes, MostBytes: compaction.MostBytes}
	}
	return t.ask, nil
}

// window is that of the model, or of the one that it stands for, so that a recording is played as
// it was made.
func (t *turn) window() int64 {
	name := t.claim.Policy.GetModel()
	if other, ok := t.model.(model.StandIn); ok {
		name = other.StandsFor()
	}
	return t.fx.Window(name)
}

// readable refuses a history of which a part has the form of another provider: the model would
// not know what it does not see.
func (t *turn) readable() error {
	for _, item := range t.history {
		if form := item.GetDeveloper().GetSummary().GetProvider(); form != "" && form != t.claim.Policy.GetProvider() {
			return fault.New(fault.FailedPrecondition, "COMPACTION_PROVIDER_LOCKED",
				"a part of this conversation was shortened by the provider %s, in a form that only it can read: go on with a model of %s, or begin a new session", form, form)
		}
	}
	return nil
}

func (t *turn) length() compaction.Length {
	return compaction.Measure(t.history, t.overhead(), compaction.Known{Tokens: t.claim.Shown.Tokens, Items: t.claim.Shown.Counted})
}

// fresh tells whether the history was replaced and no answer came since: then it is not
// replaced again. It is a function of what is durable.
func (t *turn) fresh() bool {
	kept := t.claim.Shown.Kept
	return kept > 0 && kept <= len(t.history) && !slices.ContainsFunc(t.history[kept:], func(i *messagev1.Item) bool { return i.GetAssistant() != nil })
}

// overflowed looks at a request that failed: one whose history the provider refused as too
// long leads to a shorter one. A refusal for safety never does, whatever it says.
func (t *turn) overflowed(ctx context.Context, err error) (step, error) {
	if ctx.Err() != nil || t.fresh() || !overflows(err) {
		return nil, err
	}
	plan, ok := compaction.Split(t.history)
	if !ok {
		return nil, err
	}
	return t.compact(plan, compaction.Overflow), nil
}

func overflows(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.Overflows() && failure.Classify(err).Code == failure.Overflow
}

// isEmptyContinuation tells whether the first answer since the history was replaced is none,
// in a turn that has nothing to hand over: it would end with nothing said.
func (t *turn) isEmptyContinuation(a *answer) bool {
	if !t.fresh() || t.tooled || t.reached || finishLimit(a.item) != "" {
		return false
	}
	return strings.TrimSpace(a.text) == "" && !slices.ContainsFunc(a.item.GetAssistant().GetParts(), func(p *messagev1.AssistantPart) bool { return p.GetToolCall() != nil })
}

// discard books an answer that does not become part of the history, and fails with it.
func (t *turn) discard(ctx context.Context, number int32, a *answer, usage *messagev1.Usage) error {
	events := append(a.deltas.take(), t.usageEvent(number, usage, a.done.ResponseID))
	if err := t.fx.Ledger().Respond(ctx, t.claim.Fence, store.Response{Number: number, Usage: usage, Events: events, Now: t.fx.Now()}); err != nil {
		return err
	}
	return &failure.EmptyContinuation{}
}

func (t *turn) usageEvent(number int32, usage *messagev1.Usage, response string) *eventv1.Event {
	return t.event(&eventv1.AgentModelUsage{Call: number, Usage: usage, ResponseId: response})
}
