package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

func isEnd(e *eventv1.Event) bool {
	switch e.GetType() {
	case "turn.completed", "turn.failed", "turn.cancelled":
		return true
	}
	return false
}

func count(events []*eventv1.Event, typ string) int {
	n := 0
	for _, e := range events {
		if e.GetType() == typ {
			n++
		}
	}
	return n
}

// recoveries checks that every server that lived long enough to say so took the
// turn up soon after it was ready, and the last one did.
func recoveries(t *testing.T, events []*eventv1.Event, boots []time.Time) {
	t.Helper()
	taken := make([]time.Time, len(boots))
	for _, e := range events {
		if e.GetTurnRecoveryRequested().GetReason() != "attempt_lost" {
			continue
		}
		at := e.GetOccurredAt().AsTime()
		// The server claims while it becomes ready: it may do so before its word reaches us.
		i, _ := slices.BinarySearchFunc(boots, at, func(ready, at time.Time) int { return ready.Add(-time.Second / 2).Compare(at) })
		if i = max(1, i-1); taken[i].IsZero() {
			taken[i] = at
		}
	}
	for i, at := range taken {
		if i > 0 && !at.IsZero() && at.Sub(boots[i]) > recoveryTime {
			t.Errorf("server %d took the turn up %s after it was ready", i, at.Sub(boots[i]))
		}
	}
}

// tally is what a judged turn came to.
type tally struct{ edits, commands, unknown, interrupted, refused int }

// judge checks what the turn left: in the log, in the folder, in the ledger.
func (j *job) judge(t *testing.T, events []*eventv1.Event) tally {
	t.Helper()
	sum := j.judgeLog(t, events)
	data, err := os.ReadFile(filepath.Join(j.folder, "book.txt"))
	if err != nil || string(data) != j.book("!") {
		t.Errorf("not every edit was made exactly once (%v):\n%s", err, data)
	}
	err = filepath.WalkDir(j.folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".cadre-tmp-") {
			t.Errorf("a temporary file was left: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	st := status(t, j.server, j.execution)
	if st.GetPhase().String() != "completed" || int(st.GetToolCalls()) != j.calls() || st.GetSegmentLimit() != "" {
		t.Errorf("the ledger says %v, want a completed turn with %d tool calls", st, j.calls())
	}
	return sum
}

// calls is what the log says of the turn's calls, by call.
type calls struct {
	requested   map[string]string // the arguments
	completed   map[string]int
	unknown     map[string]int
	interrupted map[string]int // commands that a server ended when it stopped in order
	refused     map[string]int // commands that a full disk kept from starting
}

func (j *job) judgeLog(t *testing.T, events []*eventv1.Event) tally {
	t.Helper()
	c := calls{map[string]string{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
	ends, generation := 0, int64(0)
	for i, e := range events {
		if want := int64(i + 1); e.GetSeq() != want || e.GetTreeSeq() != want {
			t.Fatalf("the log has a gap: event %d has the numbers %d and %d", want, e.GetSeq(), e.GetTreeSeq())
		}
		if e.GetAssociation() != eventv1.Association_current {
			t.Errorf("event %d, %s, is %s: an attempt wrote that was gone", e.GetSeq(), e.GetType(), e.GetAssociation())
		}
		if g := e.GetGeneration(); g != 0 {
			if g < generation {
				t.Errorf("event %d is of generation %d, after %d", e.GetSeq(), g, generation)
			}
			generation = g
		}
		if isEnd(e) {
			ends++
		}
		c.note(t, e)
	}
	if ends != 1 || count(events, "turn.completed") != 1 {
		t.Errorf("the turn ended %d times", ends)
	}
	if got := count(events, "turn.recovery.requested"); generation != int64(got+1) {
		t.Errorf("the turn was taken up %d times and has the generation %d", got, generation)
	}
	if waits, reopened := count(events, "turn.waiting"), count(events, "turn.reopened"); waits != reopened || waits != len(c.unknown) {
		t.Errorf("the turn waited %d times, went on %d times, for %d unknown calls", waits, reopened, len(c.unknown))
	}
	return j.judgeCalls(t, c)
}

func (c *calls) note(t *testing.T, e *eventv1.Event) {
	t.Helper()
	switch e.GetType() {
	case "agent.tool.requested":
		r := e.GetAgentToolRequested()
		c.requested[r.GetCallId()] = r.GetArguments()
	case "agent.tool.completed":
		c.completed[e.GetAgentToolCompleted().GetCallId()]++
	case "agent.tool.outcome_unknown":
		u := e.GetAgentToolOutcomeUnknown()
		c.unknown[u.GetCallId()]++
		if u.GetName() != "shell" {
			t.Errorf("event %d: the outcome of a file's change is unknown: %v", e.GetSeq(), u)
		}
	case "agent.tool.failed":
		f := e.GetAgentToolFailed()
		switch said := f.GetResult(); {
		case f.GetName() == "shell" && strings.Contains(said, "[interrupted: "):
			c.interrupted[f.GetCallId()]++
		case f.GetName() == "shell" && strings.HasPrefix(said, "the command was not started: ") && strings.Contains(said, "no space left on device"):
			c.refused[f.GetCallId()]++
		default:
			t.Errorf("event %d: %v", e.GetSeq(), e)
		}
	}
}

// judgeCalls checks that each call came to one outcome, and each command's line
// stands in the journal once when it completed and at most once in any case.
func (j *job) judgeCalls(t *testing.T, c calls) tally {
	t.Helper()
	journal, err := os.ReadFile(filepath.Join(j.folder, "journal.txt"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if len(c.requested) != j.calls() {
		t.Errorf("%d calls were asked for, want %d", len(c.requested), j.calls())
	}
	sum := tally{unknown: len(c.unknown), interrupted: len(c.interrupted), refused: len(c.refused)}
	for id, arguments := range c.requested {
		if c.completed[id]+c.unknown[id]+c.interrupted[id]+c.refused[id] != 1 {
			t.Errorf("the call %s completed %d times, was unknown %d times, interrupted %d times, and refused %d times: %s", id, c.completed[id], c.unknown[id], c.interrupted[id], c.refused[id], arguments)
		}
		if !strings.Contains(arguments, "journal.txt") {
			sum.edits++
			continue
		}
		sum.commands++
		at := strings.Index(arguments, "(")
		lines := strings.Count(string(journal), arguments[at:at+5]+"\n")
		if lines > 1 || lines == 0 && c.completed[id] == 1 || lines == 1 && c.refused[id] == 1 {
			t.Errorf("the line of %s stands %d times in the journal; it completed %d times", arguments, lines, c.completed[id])
		}
	}
	return sum
}
