package turn

import (
	"context"
	"errors"
	"strings"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn/compaction"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// forCompaction is the purpose of a request that asks for a shorter history.
const forCompaction = "compaction"

// shorter is what came of a request for a shorter history.
type shorter struct {
	text     string            // the summary
	provider string            // of own; "" where text says it all
	own      []*messagev1.Item // in the provider's form
	usage    *messagev1.Usage  // what the provider told; may be nil
	response string
	finish   string
}

// compact has the history made shorter and replaces it, in one transaction with the usage of
// the request. That request is admitted, held and booked like any other. What fails leaves the
// history as it was.
func (t *turn) compact(plan compaction.Plan, reason compaction.Reason) step {
	return func(ctx context.Context) (step, error) {
		room := t.room(reason)
		got, number, history, err := t.shorten(ctx, room)
		if overflows(err) { // also what was asked is too long: once more, with half of it
			got, number, history, err = t.shorten(ctx, room/2)
		}
		if err != nil {
			return nil, err
		}
		return t.fit, t.replace(context.WithoutCancel(ctx), plan, reason, number, history, got)
	}
}

// room is how many bytes of the history are sent to have it made shorter. What fits with the
// answer is sent as it is, for the provider's cache of what it has seen.
func (t *turn) room(reason compaction.Reason) int {
	l := t.length()
	room := l.Bytes
	if reason == compaction.Overflow {
		room /= 2 // how long is too long was not told
	}
	if window := t.window(); window > 0 && l.Tokens*100 > window*95 {
		room = min(room, int(float64(l.Bytes)*0.85*float64(window)/float64(l.Tokens)))
	}
	return min(room, compaction.MostBytes/2)
}

// shorten makes the request, with the part of the history that has room.
func (t *turn) shorten(ctx context.Context, room int) (*shorter, int32, []*messagev1.Item, error) {
	if err := t.show(ctx); err != nil {
		return nil, 0, nil, err
	}
	own, remote := t.model.(model.Compactor)
	history := compaction.Fit(t.shown.history, room)
	if !remote {
		history = append(history[:len(history):len(history)], compaction.Prompt())
	}
	number, over, err := t.begin(ctx, history, forCompaction)
	if err != nil {
		return nil, 0, nil, err
	}
	req, err := t.request(ctx, number)
	if err != nil {
		over(nil)
		return nil, 0, nil, err
	}
	req.History, req.Schema, req.Compaction = history, nil, true
	var got *shorter
	if remote {
		got, err = t.haveCompacted(ctx, own, req)
	} else {
		got, err = t.summarise(ctx, req)
	}
	if over(err); err != nil {
		return nil, number, history, t.troubled(t.unanswered(ctx, number, err), own)
	}
	return got, number, history, nil
}

// summarise asks the model for a summary in words.
func (t *turn) summarise(ctx context.Context, req model.Request) (*shorter, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var text strings.Builder
	done, err := t.listen(ctx, cancel, req, func(p model.Part) { text.WriteString(p.Text) })
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return nil, err
	}
	return &shorter{text: text.String(), usage: done.Usage, response: done.ResponseID, finish: done.FinishReason}, nil
}

// haveCompacted has the provider make the history shorter in its own form.
func (t *turn) haveCompacted(ctx context.Context, own model.Compactor, req model.Request) (*shorter, error) {
	feature, implementation := own.Compaction()
	t.spoke = false
	t.sent.Store(false)
	got, err := own.Compact(model.WithIdle(ctx, t.opt.StreamIdle), model.CompactRequest{Request: req, Feature: feature, Implementation: implementation})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	return &shorter{provider: t.claim.Policy.GetProvider(), own: got.Items, usage: got.Usage, response: got.ResponseID}, nil
}

// troubled marks what a provider's error is about. What is of the platform stays as it is.
func (t *turn) troubled(err error, own model.Compactor) error {
	var provider *model.Error
	if !errors.As(err, &provider) {
		return err
	}
	e := &failure.Compacting{Err: err}
	if own != nil {
		passes := own.Recoverable(err)
		e.Passes = &passes
	}
	return e
}

// replace puts the shorter history into the place of the old one. What is not shorter is booked
// and left.
func (t *turn) replace(ctx context.Context, plan compaction.Plan, reason compaction.Reason, number int32, asked []*messagev1.Item, got *shorter) error {
	done, err := t.responded(got.response)
	if err != nil {
		return err
	}
	defer done()
	usage := t.used(got.usage, asked, got.text)
	events := []*eventv1.Event{t.usageEvent(number, usage, got.response)}
	history := plan.History(strings.TrimSpace(got.text), got.provider, got.own)
	if why := refuses(t.history, history, got); why != "" {
		if err := t.fx.Ledger().Respond(ctx, t.claim.Fence, store.Response{Number: number, Usage: usage, Events: events, Now: t.fx.Now()}); err != nil {
			return err
		}
		return &failure.NotCompacted{Why: why}
	}
	l := t.length()
	events = append(events, t.event(&eventv1.ContextCompacted{
		Call: number, BeforeTokens: l.Tokens, AfterTokens: l.Of(history), KeptItems: int32(plan.KeptItems()), Reason: string(reason),
	}))
	if err := t.fx.Ledger().Compact(ctx, t.claim.Fence, store.Compaction{Number: number, Usage: usage, History: history, Events: events, Now: t.fx.Now()}); err != nil {
		return err
	}
	t.take(history)
	return nil
}

// refuses tells why what came does not take the place of the history; "" when it does.
func refuses(old, history []*messagev1.Item, got *shorter) string {
	switch {
	case got.provider == "" && strings.TrimSpace(got.text) == "":
		return "the summary is empty"
	case got.provider != "" && len(got.own) == 0:
		return "the provider gave nothing in its place"
	case got.finish == "content_filter":
		return "the summary was held back by the provider"
	case !compaction.Shrinks(old, history):
		return "the summary is not shorter than what it stands for"
	}
	return ""
}

// take goes on with a replaced history, as a claim would find it.
func (t *turn) take(history []*messagev1.Item) {
	taken := make([]string, 0, len(t.takenIDs()))
	for id := range t.takenIDs() {
		taken = append(taken, id)
	}
	t.history, t.shown = history, shown{}
	t.claim.Shown = store.Shown{Kept: len(history), Taken: taken}
	t.claim.Recoveries = store.Recoveries{}
}
