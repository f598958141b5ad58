package turn

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
)

// deltas shows text as it comes and makes it durable in pieces: at most
// DeltaEvery old or DeltaBytes long. One goroutine writes; the reader of the
// model's stream never waits for the disk unless a whole piece is ahead of it.
type deltas struct {
	t      *turn
	number int32
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu        sync.Mutex
	text      run
	reasoning run
	timer     *time.Timer
	writing   sync.Mutex // held while a piece is on its way to the store
	stopped   bool
}

// run is text that was shown and is not durable yet.
type run struct {
	offset int64 // of the waiting text within the answer
	wait   []byte
}

func (t *turn) newDeltas(ctx context.Context, number int32, cancel context.CancelCauseFunc) *deltas {
	return &deltas{t: t, number: number, ctx: ctx, cancel: cancel}
}

// add takes a part of the answer.
func (d *deltas) add(p model.Part) {
	text, reasoning := p.Text, false
	if p.Reasoning != nil {
		text, reasoning = p.Reasoning.GetText(), true
	}
	if text == "" {
		return
	}
	d.mu.Lock()
	r := &d.text
	if reasoning {
		r = &d.reasoning
	}
	at := r.offset + int64(len(r.wait))
	r.wait = append(r.wait, text...)
	full := len(d.text.wait)+len(d.reasoning.wait) >= d.t.opt.DeltaBytes
	if d.timer == nil && !full {
		d.timer = time.AfterFunc(d.t.opt.DeltaEvery, d.flush)
	}
	d.mu.Unlock()
	f := d.t.claim.Fence
	d.t.fx.Show(&eventv1.EphemeralDelta{
		SessionId: f.Session, ExecutionId: f.Execution, AttemptId: f.Attempt, Generation: f.Generation,
		Call: d.number, Offset: at, Text: text, Reasoning: reasoning,
	})
	if full {
		d.flush()
	}
}

// flush writes what waits.
func (d *deltas) flush() {
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	if d.stopped {
		d.mu.Unlock()
		return
	}
	events := d.drain()
	d.mu.Unlock()
	if len(events) == 0 {
		return
	}
	if err := d.t.fx.Ledger().Append(context.WithoutCancel(d.ctx), d.t.claim.Fence, events); err != nil {
		d.cancel(err)
		if !errors.Is(err, store.ErrFenced) {
			d.t.fx.Log().WarnContext(d.ctx, "text did not become durable", "error", err)
		}
	}
}

// drain turns what waits into events. d.mu must be held.
func (d *deltas) drain() []*eventv1.Event {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	var events []*eventv1.Event
	if text := d.reasoning.take(); text != "" {
		events = append(events, d.t.event(&eventv1.AgentReasoningDelta{
			Call: d.number, Offset: d.reasoning.offset - int64(len(text)), Text: text,
		}))
	}
	if text := d.text.take(); text != "" {
		events = append(events, d.t.event(&eventv1.AgentMessageDelta{
			Call: d.number, Offset: d.text.offset - int64(len(text)), Text: text,
		}))
	}
	return events
}

func (r *run) take() string {
	text := string(r.wait)
	r.offset += int64(len(text))
	r.wait = r.wait[:0]
	return text
}

// take ends the writing and answers what is left, for the caller to store.
func (d *deltas) take() []*eventv1.Event {
	d.writing.Lock() // a piece on its way comes before the rest
	defer d.writing.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	return d.drain()
}

func (d *deltas) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// event makes an event of this turn; the store adds who and in what order.
func (t *turn) event(payload proto.Message) *eventv1.Event {
	return event.New(t.fx.Now(), payload)
}
