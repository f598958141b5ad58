package eventlog

import (
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// Hint tells the subscribers of a session and of its tree that their logs have come
// so far in the store, because another server wrote them. It does not block.
func (l *Log) Hint(h store.Hint) {
	if t := l.find(topicKey{id: h.Session}); t != nil {
		t.hint(h.Seq, seqOf)
	}
	if t := l.find(topicKey{id: h.Root, tree: true}); t != nil {
		t.hint(h.TreeSeq, treeSeqOf)
	}
}

// Watched are the sessions, and roots of trees, that somebody listens to.
func (l *Log) Watched() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]string, 0, len(l.topics))
	for k := range l.topics {
		all = append(all, k.id)
	}
	return all
}

// hint has the readers look into the store, unless they know as much.
func (t *topic) hint(order int64, orderOf func(*eventv1.Event) int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.ring); n > 0 && orderOf(t.ring[n-1]) >= order || order <= t.hinted {
		return
	}
	t.hinted = order
	t.ring = nil
	t.wake()
}
