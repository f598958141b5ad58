package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
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

// finished waits until the session is idle and answers its whole log.
func (j *job) finished(t *testing.T) []*eventv1.Event {
	t.Helper()
	j.server.Await(t, j.session, func(e *eventv1.Event) bool { return e.GetSessionStatusChanged().GetPhase() == "idle" })
	return j.events(t)
}

// recoveries checks that every server that lived long enough to say so took the
// turn up soon after it was ready, and the last one did.
func recoveries(t *testing.T, events []*eventv1.Event, boots []time.Time) {
	t.Helper()
	taken := make([]time.Time, len(boots))
	for _, e := range events {
		if e.GetType() != "turn.recovery.requested" {
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
		switch {
		case i == 0: // the first server began the turn
		case at.IsZero() && i == len(boots)-1:
			t.Error("the last server has not taken the turn up")
		case !at.IsZero() && at.Sub(boots[i]) > recoveryTime:
			t.Errorf("server %d took the turn up %s after it was ready", i, at.Sub(boots[i]))
		}
	}
}

// judge checks what the turn left: in the log, in the folder, in the ledger.
func (j *job) judge(t *testing.T, events []*eventv1.Event) {
	t.Helper()
	j.judgeLog(t, events)
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
	for i := 4; i < j.steps; i += 4 {
		if data, err := os.ReadFile(filepath.Join(j.folder, page(i))); err != nil || string(data) != page(i)+"\n" {
			t.Errorf("page %d is %q (%v)", i, data, err)
		}
	}
	turns, err := j.server.Executions().List(t.Context(), connect.NewRequest(&resourcev1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	all := turns.Msg.GetAgentExecutions()
	if len(all) != 1 || all[0].GetStatus().GetPhase().String() != "completed" || int(all[0].GetStatus().GetToolCalls()) != j.calls() || all[0].GetStatus().GetSegmentLimit() != "" {
		t.Errorf("the ledger holds %v, want one turn with %d tool calls", all, j.calls())
	}
}

func (j *job) judgeLog(t *testing.T, events []*eventv1.Event) {
	t.Helper()
	completed := map[string]int{}
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
		switch {
		case isEnd(e):
			ends++
		case e.GetType() == "agent.tool.completed":
			completed[e.GetAgentToolCompleted().GetCallId()]++
		case e.GetType() == "agent.tool.failed", e.GetType() == "agent.tool.outcome_unknown":
			t.Errorf("event %d: %v", e.GetSeq(), e)
		}
	}
	if ends != 1 || count(events, "turn.completed") != 1 {
		t.Errorf("the turn ended %d times", ends)
	}
	if len(completed) != j.calls() {
		t.Errorf("%d calls completed, want %d", len(completed), j.calls())
	}
	for id, n := range completed {
		if n != 1 {
			t.Errorf("the call %s completed %d times", id, n)
		}
	}
	if got := count(events, "turn.recovery.requested"); generation != int64(got+1) {
		t.Errorf("the turn was taken up %d times and has the generation %d", got, generation)
	}
}
