package eventlog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// randomLog is what a session might have seen: answers that stream in pieces, whole
// or cut short, tool calls, recoveries, late writers.
func randomLog(random *rand.Rand) (log []*eventv1.Event) {
	add := func(x string, payloads ...proto.Message) {
		for _, p := range payloads {
			e := event.New(time.Unix(1, 0), p)
			e.Seq, e.ExecutionId, e.Association = int64(len(log))+1, x, eventv1.Association_current
			if random.IntN(12) == 0 {
				e.Association = eventv1.Association_late_rejected
			}
			log = append(log, e)
		}
	}
	add("", &eventv1.SessionCreated{}, &eventv1.SessionStatusChanged{Phase: "running"})
	for turn := range 1 + random.IntN(4) {
		x := fmt.Sprint("aex_", turn)
		add(x, &eventv1.InputQueued{InputId: x, Text: "hi"}, &eventv1.TurnQueued{InputId: x}, &eventv1.TurnStarted{})
		for call := range int32(1 + random.IntN(3)) {
			add(x, &eventv1.AgentModelRequest{Call: call})
			for i := range random.IntN(6) {
				if random.IntN(3) == 0 {
					add(x, &eventv1.AgentReasoningDelta{Call: call, Text: fmt.Sprint("r", i)})
				}
				add(x, &eventv1.AgentMessageDelta{Call: call, Text: fmt.Sprint("t", i)})
			}
			switch random.IntN(4) {
			case 0:
				add(x, &eventv1.TurnRecoveryRequested{})
			case 1: // cut short
			default:
				add(x, &eventv1.AgentMessageCompleted{Call: call, Text: []string{"whole", ""}[random.IntN(2)]}, &eventv1.AgentModelUsage{})
			}
			id := fmt.Sprint("call_", call)
			add(x, &eventv1.AgentToolRequested{CallId: id, Name: "read"}, &eventv1.AgentToolStarted{CallId: id},
				&eventv1.AgentToolProgress{CallId: id}, &eventv1.AgentToolCompleted{CallId: id, Result: "r"})
		}
		add(x, []proto.Message{&eventv1.TurnCompleted{}, &eventv1.TurnFailed{}, &eventv1.TurnCancelled{}}[random.IntN(3)])
		add("", &eventv1.SessionStatusChanged{Phase: "idle"})
	}
	return log
}

// Retention never removes what GetTranscript needs.
func TestWhatIsSurplusChangesNoTranscript(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	removed := 0
	for run := range 300 {
		log := randomLog(rand.New(rand.NewPCG(seed, uint64(run))))
		all, left, surplus := eventlog.NewFolder("ses"), eventlog.NewFolder("ses"), eventlog.NewSurplus()
		for _, e := range log {
			all.Add(e)
			surplus.Add(e)
		}
		drop := surplus.Events()
		removed += len(drop)
		again := eventlog.NewSurplus()
		for _, e := range log {
			if !slices.Contains(drop, e.GetSeq()) {
				left.Add(e)
				again.Add(e)
			}
		}
		if !proto.Equal(all.Transcript(), left.Transcript()) {
			t.Fatalf("run %d: without %v the transcript is\n%v\nand was\n%v", run, drop, left.Transcript(), all.Transcript())
		}
		if more := again.Events(); len(more) > 0 {
			t.Fatalf("run %d: of what is left %v is surplus", run, more)
		}
		if slices.Contains(drop, 1) || slices.Contains(drop, int64(len(log))) {
			t.Fatalf("run %d: the first or the newest event is surplus", run)
		}
	}
	if removed < 1000 {
		t.Errorf("only %d events were surplus", removed)
	}
}

// thinned is a log of 1000 deltas of which retention left every tenth.
func thinned() *source {
	s := newSource()
	for i := range 1000 {
		s.commit(text(int64(i), "x"))
	}
	s.trim(func(seq int64) bool { return seq%10 != 0 && seq < 900 })
	return s
}

// trim removes events and remembers how far, as a store does.
func (s *source) trim(drop func(seq int64) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.rows {
		if drop(int64(i) + 1) {
			s.rows[i], s.removed = nil, int64(i)+1
		}
	}
}

func TestACursorBeforeWhatWasRemovedIsRefusedByName(t *testing.T) {
	t.Parallel()
	s := thinned()
	for _, after := range []string{"1", "500", "898", eventlog.All.Cursor(500)} {
		_, err := s.log.Subscribe(t.Context(), eventlog.Subscription{Session: "ses", After: after, Filter: eventlog.All})
		if fault.ReasonOf(err) != "CURSOR_TOO_OLD" || fault.From(err).Meta["oldest"] != "899" {
			t.Errorf("a stream after %s: %v", after, err)
		}
		if _, err := s.log.Page(t.Context(), "ses", after, 10, eventlog.All); fault.ReasonOf(err) != "CURSOR_TOO_OLD" {
			t.Errorf("a page after %s: %v", after, err)
		}
	}
	for _, after := range []string{"899", "900", "1000"} {
		if _, err := s.log.Page(t.Context(), "ses", after, 10, eventlog.All); err != nil {
			t.Errorf("a page after %s: %v", after, err)
		}
	}
}

// From the beginning the log is what is left of it, also over pages and for a reader
// that comes back with the id that it saw last.
func TestWhatIsLeftCanBeReadFromTheBeginning(t *testing.T) {
	t.Parallel()
	s := thinned()
	var seqs []int64
	for after := ""; ; {
		page, err := s.log.Page(t.Context(), "ses", after, 7, eventlog.All)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			seqs = append(seqs, e.GetSeq())
		}
		if after = page.Next; after == "" {
			break
		}
	}
	var streamed []int64
	for after, n := "", 0; n < 190; n = len(streamed) {
		got, err := read(t.Context(), s.log, after, eventlog.All, min(11, 190-n))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got {
			streamed, after = append(streamed, f.Event.GetSeq()), f.ID
		}
	}
	if len(seqs) != 190 || !slices.Equal(seqs, streamed) {
		t.Errorf("pages hold %d and a stream %d of 190 events", len(seqs), len(streamed))
	}
}

// A reader is told when events that it did not see are removed.
func TestAReaderIsToldWhenTheLogIsThinnedBeforeIt(t *testing.T) {
	t.Parallel()
	s := newSource()
	for i := range 1000 {
		s.commit(text(int64(i), "x"))
	}
	frames, err := s.log.Subscribe(t.Context(), eventlog.Subscription{Session: "ses", After: "1", Filter: eventlog.All})
	if err != nil {
		t.Fatal(err)
	}
	next := int64(2)
	for f, err := range frames {
		if err != nil {
			if fault.ReasonOf(err) != "CURSOR_TOO_OLD" || next == 2 {
				t.Errorf("after %d it ends with %v", next-1, err)
			}
			return
		}
		if f.Event.GetSeq() != next {
			t.Fatalf("got %d, want %d: a gap", f.Event.GetSeq(), next)
		}
		if next++; next == 10 {
			s.trim(func(seq int64) bool { return seq > 100 && seq < 900 })
		}
	}
}

var _ eventlog.Source = (*source)(nil)

func (s *source) state() store.SessionState {
	n := int64(len(s.rows))
	return store.SessionState{ID: "ses", LastSeq: n, TreeSeq: n, Removed: s.removed, RemovedTree: s.removed}
}
