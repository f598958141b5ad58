package cli

import eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"

// tracker knows from the events when what is watched has ended: one turn, or
// all work of a session.
type tracker struct {
	watch
	open    map[string]bool // turns that have not ended
	waiting *eventv1.Event  // the turn that waits for somebody
	last    *eventv1.Event  // the newest end of a turn
}

func newTracker(w watch) *tracker { return &tracker{watch: w, open: map[string]bool{}} }

// see takes the next event in and answers the one that ended the watched work,
// nil while it goes on.
func (t *tracker) see(e *eventv1.Event) *eventv1.Event {
	if e.GetAssociation() == eventv1.Association_current {
		t.note(e)
	}
	switch {
	case e.GetSeq() < t.head:
		return nil
	case t.waiting != nil:
		return t.waiting
	case !t.all() && t.last != nil, t.all() && len(t.open) == 0:
		return t.last
	}
	return nil
}

func (t *tracker) note(e *eventv1.Event) {
	x := e.GetExecutionId()
	if x == "" || !t.all() && x != t.execution {
		return
	}
	switch e.GetType() {
	case "turn.queued":
		t.open[x] = true
	case "turn.completed", "turn.failed", "turn.cancelled":
		delete(t.open, x)
		t.last = e
		if t.waiting.GetExecutionId() == x {
			t.waiting = nil
		}
	case "turn.waiting":
		if e.GetTurnWaiting().GetUntil() == nil { // it does not go on by itself
			t.waiting = e
		}
	case "turn.reopened", "turn.recovery.requested":
		t.open[x] = true
		if t.waiting.GetExecutionId() == x {
			t.waiting = nil
		}
		if t.last.GetExecutionId() == x {
			t.last = nil
		}
	}
}
