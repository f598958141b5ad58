package eventlog

import (
	"context"
	"errors"
	"iter"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// How many events a replay reads at once. The first page is small: a reader that
// comes back misses little, and one that leaves again soon costs little.
const (
	firstPage = 50
	pageSize  = 500
)

// Frame is one message of a stream; exactly one of Event, Ephemeral and
// Heartbeat is set.
type Frame struct {
	ID        string // of durable events
	Event     *eventv1.Event
	Ephemeral *eventv1.EphemeralDelta
	Heartbeat bool
}

// Subscription says what to stream.
type Subscription struct {
	Session string
	After   string // cursor; "" from the first event
	Filter  Filter
	// Heartbeat is the silence after which a heartbeat frame is sent. Default 15 s.
	Heartbeat time.Duration
	// Recheck is called every RecheckEvery while the stream is open; its error ends
	// it. May be nil.
	Recheck      func(context.Context) error
	RecheckEvery time.Duration // default 30 s
}

// Subscribe opens a stream. Faults of the request (unknown session, bad cursor,
// a cursor beyond the log's end) are answered at once; the sequence ends with
// an error, or when ctx ends.
func (l *Log) Subscribe(ctx context.Context, s Subscription) (iter.Seq2[Frame, error], error) {
	r, err := l.reader(ctx, s)
	if err != nil {
		return nil, err
	}
	return r.frames(ctx), nil
}

// reader is the state of one subscription.
type reader struct {
	log      *Log
	sub      Subscription
	cursor   int64 // order of the last event that was seen, also of those the filter left out
	position int64 // in the topic's ephemeral frames
	horizon  int64 // up to which the subscriber knows that events were removed
	limit    int   // of the next page
	cursorOf func(order int64) string
	shownTo  covered
}

func (l *Log) reader(ctx context.Context, s Subscription) (*reader, error) {
	if s.Heartbeat == 0 {
		s.Heartbeat = 15 * time.Second
	}
	if s.RecheckEvery == 0 {
		s.RecheckEvery = 30 * time.Second
	}
	if err := s.Filter.check(); err != nil {
		return nil, err
	}
	at, err := s.Filter.parse(s.After)
	if err != nil {
		return nil, err
	}
	state, err := l.source.Session(ctx, s.Session)
	if err != nil {
		return nil, err
	}
	if head := headOf(state, s.Filter); at.order > head {
		return nil, fault.New(fault.OutOfRange, "CURSOR_AHEAD", "the cursor %q is beyond the log's newest event %d", s.After, head)
	}
	if at.order == 0 { // from the beginning: what is left of it
		at.horizon = removedOf(state, s.Filter)
	}
	r := &reader{log: l, sub: s, cursor: at.order, horizon: at.horizon, limit: firstPage, cursorOf: s.Filter.cursors(at.horizon)}
	return r, r.whole(state, at.order)
}

func headOf(st store.SessionState, f Filter) int64 {
	if f.Tree {
		return st.TreeSeq
	}
	return st.LastSeq
}

func (r *reader) key() topicKey { return topicKey{r.sub.Session, r.sub.Filter.Tree} }

// frames joins the topic first, so that nothing committed from then on is
// missed, replays what the store has, and goes on live.
func (r *reader) frames(ctx context.Context) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		t := r.log.join(r.key())
		defer r.log.leave(r.key())
		_, r.position = t.shown(1 << 62)
		beat := time.NewTimer(r.sub.Heartbeat)
		defer beat.Stop()
		check := time.NewTicker(r.sub.RecheckEvery)
		defer check.Stop()
		for {
			changed, sent, err := r.step(ctx, t, yield)
			if errors.Is(err, errStopped) {
				return
			}
			if err != nil {
				yield(Frame{}, err)
				return
			}
			if sent {
				beat.Reset(r.sub.Heartbeat)
				continue
			}
			select {
			case <-changed:
			case <-beat.C:
				if !yield(Frame{Heartbeat: true}, nil) {
					return
				}
				beat.Reset(r.sub.Heartbeat)
			case <-check.C:
				if err := r.recheck(ctx); err != nil {
					yield(Frame{}, err)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

var errStopped = fault.New(fault.Canceled, "STOPPED", "the reader stopped")

func (r *reader) recheck(ctx context.Context) error {
	if r.sub.Recheck == nil {
		return nil
	}
	return r.sub.Recheck(ctx)
}

// step sends what there is now: durable events first, then ephemeral ones.
func (r *reader) step(ctx context.Context, t *topic, yield func(Frame, error) bool) (<-chan struct{}, bool, error) {
	before := r.cursor
	events, known, changed := t.tail(r.cursor, r.sub.Filter.orderOf)
	if !known {
		var err error
		if events, err = r.page(ctx); err != nil {
			return changed, false, err
		}
	}
	sent := false
	for _, e := range events {
		order := r.sub.Filter.orderOf(e)
		if order <= r.cursor && known {
			continue
		}
		r.cursor = max(r.cursor, order)
		r.shownTo.note(e)
		if !r.passes(e) {
			continue
		}
		sent = true
		if !yield(Frame{ID: r.cursorOf(order), Event: e}, nil) {
			return changed, sent, errStopped
		}
	}
	if sent || r.cursor != before {
		return changed, true, nil
	}
	return r.ephemeral(t, changed, yield)
}

func (r *reader) passes(e *eventv1.Event) bool {
	f := r.sub.Filter
	return f.matches(e.GetType()) && (!f.Tree || f.MaxDepth < 0 || e.GetDepth() <= f.MaxDepth)
}

// page reads on from the store. A short page proves that everything up to the
// head read before it was seen, also what the filter left out.
func (r *reader) page(ctx context.Context) ([]*eventv1.Event, error) {
	state, err := r.log.source.Session(ctx, r.sub.Session)
	if err != nil {
		return nil, err
	}
	head := headOf(state, r.sub.Filter)
	if head <= r.cursor {
		return nil, nil
	}
	f, limit := r.sub.Filter, r.limit
	r.limit = pageSize
	events, err := r.log.source.Events(ctx, store.EventQuery{
		Session: r.sub.Session, Tree: f.Tree, After: r.cursor, Limit: limit, Types: f.Types, MaxDepth: f.MaxDepth,
	})
	if err != nil {
		return nil, err
	}
	if state, err = r.log.source.Session(ctx, r.sub.Session); err == nil {
		err = r.whole(state, r.cursor)
	}
	if err == nil && len(events) < limit && (len(events) == 0 || f.orderOf(events[len(events)-1]) < head) {
		r.cursor = max(r.cursor, head)
	}
	return events, err
}

func (r *reader) ephemeral(t *topic, changed <-chan struct{}, yield func(Frame, error) bool) (<-chan struct{}, bool, error) {
	pieces, next := t.shown(r.position)
	r.position = next
	if r.sub.Filter.DurableOnly {
		return changed, false, nil
	}
	sent := false
	for _, p := range pieces {
		typ := "agent.message.delta"
		if p.GetReasoning() {
			typ = "agent.reasoning.delta"
		}
		if !r.sub.Filter.matches(typ) || r.shownTo.has(p) {
			continue
		}
		sent = true
		if !yield(Frame{Ephemeral: p}, nil) {
			return changed, sent, errStopped
		}
	}
	return changed, sent, nil
}

// covered remembers how far the newest answer's text is durable, so that an
// ephemeral piece never follows the durable delta that replaced it.
type covered struct {
	execution       string
	call            int32
	text, reasoning int64
	done            bool
}

func (c *covered) note(e *eventv1.Event) {
	switch p := e.GetPayload().(type) {
	case *eventv1.Event_AgentModelRequest:
		*c = covered{execution: e.GetExecutionId(), call: p.AgentModelRequest.GetCall()}
	case *eventv1.Event_AgentMessageDelta:
		c.text = p.AgentMessageDelta.GetOffset() + int64(len(p.AgentMessageDelta.GetText()))
	case *eventv1.Event_AgentReasoningDelta:
		c.reasoning = p.AgentReasoningDelta.GetOffset() + int64(len(p.AgentReasoningDelta.GetText()))
	case *eventv1.Event_AgentMessageCompleted, *eventv1.Event_TurnRecoveryRequested:
		c.done = true
	}
}

func (c *covered) has(p *eventv1.EphemeralDelta) bool {
	if c.execution != p.GetExecutionId() || c.call != p.GetCall() {
		return c.execution == p.GetExecutionId() && c.call > p.GetCall()
	}
	end := p.GetOffset() + int64(len(p.GetText()))
	if p.GetReasoning() {
		return c.done || end <= c.reasoning
	}
	return c.done || end <= c.text
}
