// Package eventlog turns the store's events into streams: live as they are
// committed, replayed from any cursor, the same bytes in both cases.
//
// Promise: a subscriber sees every durable event of its filter after its
// cursor, once, in order, without gaps. Ephemeral frames are a courtesy: a slow
// reader loses them, and so does one on another node. Delivery is at most once
// per subscription and resumes exactly after the last id that was seen.
package eventlog

import (
	"context"
	"sync"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// Source is the part of the store that a Log reads.
type Source interface {
	Events(ctx context.Context, q store.EventQuery) ([]*eventv1.Event, error)
	Session(ctx context.Context, session string) (store.SessionState, error)
}

// Sizes of what a topic remembers for its live subscribers.
const (
	ringSize      = 1024 // durable events; a reader further behind reads the store
	ephemeralSize = 1024 // ephemeral frames; a reader further behind loses them
)

// Log fans events out. Safe for concurrent use. Make it with New.
type Log struct {
	source Source
	mu     sync.Mutex
	topics map[topicKey]*topic
}

// New makes a Log that reads from source.
func New(source Source) *Log {
	return &Log{source: source, topics: map[topicKey]*topic{}}
}

type topicKey struct {
	id   string
	tree bool
}

// topic is one session's, or one tree's, live tail. It exists while somebody
// listens.
type topic struct {
	readers   int // under Log.mu
	mu        sync.Mutex
	ring      []*eventv1.Event // contiguous in order
	hinted    int64            // how far another server wrote, as far as it was told
	pieces    []*eventv1.EphemeralDelta
	pieceBase int64         // position of pieces[0] since the topic began
	changed   chan struct{} // closed and replaced at each change
}

// Publish hands committed events to the subscribers. Events of one session must
// come in the order of their commits; it does not block.
func (l *Log) Publish(events []*eventv1.Event) {
	for _, e := range events {
		if t := l.find(topicKey{id: e.GetSessionId()}); t != nil {
			t.push(e, e.GetSeq(), seqOf)
		}
		if t := l.find(topicKey{id: e.GetRootId(), tree: true}); t != nil {
			t.push(e, e.GetTreeSeq(), treeSeqOf)
		}
	}
}

// Show hands a piece of text to whoever listens now. It does not block.
func (l *Log) Show(d *eventv1.EphemeralDelta) {
	if t := l.find(topicKey{id: d.GetSessionId()}); t != nil {
		t.show(d)
	}
}

func (l *Log) find(k topicKey) *topic {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.topics[k]
}

func (l *Log) join(k topicKey) *topic {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[k]
	if t == nil {
		t = &topic{changed: make(chan struct{})}
		l.topics[k] = t
	}
	t.readers++
	return t
}

func (l *Log) leave(k topicKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[k]; t != nil {
		if t.readers--; t.readers == 0 {
			delete(l.topics, k)
		}
	}
}

// Readers counts the open subscriptions of a session and its tree.
func (l *Log) Readers(session string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, tree := range []bool{false, true} {
		if t := l.topics[topicKey{session, tree}]; t != nil {
			n += t.readers
		}
	}
	return n
}

func seqOf(e *eventv1.Event) int64     { return e.GetSeq() }
func treeSeqOf(e *eventv1.Event) int64 { return e.GetTreeSeq() }

// push keeps the ring contiguous: what does not follow on starts it anew, and
// readers fill the gap from the store.
func (t *topic) push(e *eventv1.Event, order int64, orderOf func(*eventv1.Event) int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.ring); n > 0 {
		last := orderOf(t.ring[n-1])
		if order <= last {
			return
		}
		if order != last+1 {
			t.ring = t.ring[:0]
		}
	}
	if len(t.ring) >= ringSize {
		t.ring = append(t.ring[:0:0], t.ring[ringSize/2:]...)
	}
	t.ring = append(t.ring, e)
	t.wake()
}

func (t *topic) show(d *eventv1.EphemeralDelta) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pieces) >= ephemeralSize {
		t.pieceBase += ephemeralSize / 2
		t.pieces = append(t.pieces[:0:0], t.pieces[ephemeralSize/2:]...)
	}
	t.pieces = append(t.pieces, d)
	t.wake()
}

func (t *topic) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// tail answers what the ring has after order. known is false when the ring
// cannot tell, because it begins later or is empty.
func (t *topic) tail(order int64, orderOf func(*eventv1.Event) int64) (events []*eventv1.Event, known bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) == 0 {
		return nil, false, t.changed
	}
	first := orderOf(t.ring[0])
	if order+1 < first {
		return nil, false, t.changed
	}
	from := order + 1 - first
	if from >= int64(len(t.ring)) {
		return nil, true, t.changed
	}
	return append([]*eventv1.Event(nil), t.ring[from:]...), true, t.changed
}

// shown answers the ephemeral frames from position on, and the next position.
func (t *topic) shown(position int64) ([]*eventv1.EphemeralDelta, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.pieceBase + int64(len(t.pieces))
	if position >= end {
		return nil, end
	}
	from := max(position, t.pieceBase) - t.pieceBase
	return append([]*eventv1.EphemeralDelta(nil), t.pieces[from:]...), end
}
