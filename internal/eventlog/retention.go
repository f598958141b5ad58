package eventlog

import (
	"strconv"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// removedOf is how far retention thinned out a log, in the order of the filter.
func removedOf(st store.SessionState, f Filter) int64 {
	if f.Tree {
		return st.RemovedTree
	}
	return st.Removed
}

// whole refuses to go on after order when events behind it were removed and the
// subscriber does not know.
func (r *reader) whole(st store.SessionState, order int64) error {
	removed := removedOf(st, r.sub.Filter)
	if removed <= order || removed <= r.horizon {
		return nil
	}
	return fault.New(fault.OutOfRange, "CURSOR_TOO_OLD",
		"events after %d were removed from this log, up to %d: go on after %d, or begin without a cursor to read what is left", order, removed, removed).
		With("oldest", strconv.FormatInt(removed, 10))
}

// Surplus are the numbers of the events of a session's log that its transcript does
// not need, so that a reader of what is left comes to the same transcript. The first
// and the newest event are not among them. Give it the whole log, in order.
type Surplus struct {
	numbers []int64
	last    int64
	lastOut bool // the newest event so far is among numbers
	answers map[answer]*pieces
}

// answer is one of a model.
type answer struct {
	execution string
	call      int32
}

// pieces are the events of an answer that streams.
type pieces struct{ behind []int64 }

// NewSurplus makes an empty one.
func NewSurplus() *Surplus { return &Surplus{answers: map[answer]*pieces{}} }

// Add looks at the next event.
func (s *Surplus) Add(e *eventv1.Event) {
	first := s.last == 0
	s.last, s.lastOut = e.GetSeq(), false
	if first {
		return
	}
	if e.GetAssociation() != eventv1.Association_current {
		s.drop(e)
		return
	}
	switch p := e.GetPayload().(type) {
	case *eventv1.Event_AgentMessageDelta:
		s.piece(e, answer{e.GetExecutionId(), p.AgentMessageDelta.GetCall()})
	case *eventv1.Event_AgentMessageCompleted:
		s.complete(answer{e.GetExecutionId(), p.AgentMessageCompleted.GetCall()})
	case *eventv1.Event_SessionStatusChanged, *eventv1.Event_InputDelivered, *eventv1.Event_AgentToolProgress,
		*eventv1.Event_AgentModelUsage, *eventv1.Event_ArtifactCreated, *eventv1.Event_TurnCancelling:
		s.drop(e)
	}
}

// piece remembers all but the first piece of an answer: the first says where in the
// transcript it stands.
func (s *Surplus) piece(e *eventv1.Event, a answer) {
	p := s.answers[a]
	if p == nil {
		s.answers[a] = &pieces{}
		return
	}
	p.behind = append(p.behind, e.GetSeq())
}

// complete gives the pieces up whose text the whole answer has.
func (s *Surplus) complete(a answer) {
	if p := s.answers[a]; p != nil {
		s.numbers = append(s.numbers, p.behind...)
	}
	delete(s.answers, a)
}

func (s *Surplus) drop(e *eventv1.Event) {
	s.numbers, s.lastOut = append(s.numbers, e.GetSeq()), true
}

// Events are the numbers.
func (s *Surplus) Events() []int64 {
	if s.lastOut {
		return s.numbers[:len(s.numbers)-1]
	}
	return s.numbers
}
