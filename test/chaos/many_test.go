package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/test/built"
)

const (
	inFlight      = 50 // turns under way at once
	crowdSteps    = 8  // of each turn
	killsPerCrowd = 6  // then they end, and others begin
)

// crowd is many turns on one server: some think, some run commands, some of the
// thinking ones are made to wait for a timer.
type crowd struct {
	server     *built.Server
	dir        string
	executions []string // by number; the uneven ones run commands
	sessions   map[string]string
	waits      int           // timers that were set
	slowest    time.Duration // until all were taken up again
}

// Reliability line 3: kills with fifty turns in flight, thinking, in a tool, and
// in a timer: all end, recovery starts in time, and nothing says running that
// nobody owns. Fifty turns use all of a small machine, hence it runs before the
// parallel tests: what runs beside it would be what its bound measures.
func TestKillsWithManyTurnsInFlight(t *testing.T) {
	kills, random := chance(t)
	server := built.Start(t, filepath.Join(t.TempDir(), "data"))
	for done := 0; done < kills; done += killsPerCrowd {
		c := &crowd{server: server, dir: t.TempDir(), sessions: map[string]string{}}
		c.begin(t)
		c.awake(t)
		for i := range min(killsPerCrowd, kills-done) {
			<-time.NewTimer(time.Duration(random.Int64N(int64(longestLife)))).C
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			c.look(t, i < 2)
			server.Env = dispatch(i + 1)
			server.Start(t)
			c.taken(t)
		}
		c.finish(t)
		c.judge(t)
		t.Logf("%d turns, %d of them in a timer: all were taken up %s after the server was ready at the latest", inFlight, c.waits, c.slowest.Round(time.Millisecond))
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
		c.look(t, false)
		server.Start(t)
		if c.waits == 0 {
			t.Error("no turn waited for a timer: there was too little traffic")
		}
	}
}

// begin starts the turns. They are long enough to outlive the kills.
func (c *crowd) begin(t *testing.T) {
	t.Helper()
	var think, work strings.Builder
	think.WriteString("steps:\n")
	work.WriteString("steps:\n")
	for i := range crowdSteps {
		fmt.Fprintf(&think, "  - {delay: 400ms, text: 'Thought %d.', tools: [{name: list, args: {}}]}\n", i)
		fmt.Fprintf(&work, "  - {delay: 50ms, text: 'Step %d.', tools: [{name: shell, args: {command: 'sleep 0.3; echo %d >>journal.txt'}}]}\n", i, i)
	}
	think.WriteString("  - text: Thought to the end.\n")
	work.WriteString("  - text: Worked to the end.\n")
	declare(t, c.server, "thinker", c.dir, think.String(), "list")
	declare(t, c.server, "worker", c.dir, work.String(), "shell")
	for i := range inFlight {
		agent := []string{"thinker", "worker"}[i%2]
		folder := filepath.Join(c.dir, fmt.Sprintf("folder-%02d", i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		session, execution := run(t, c.server, agent, folder)
		c.executions = append(c.executions, execution)
		c.sessions[execution] = session
	}
}

// look opens the store of a server that is gone. What says running has an attempt
// that owns it. With timers it makes a few attempts wait, as they would have done
// themselves had they lived.
func (c *crowd) look(t *testing.T, timers bool) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), c.server.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	live, err := s.LiveAttempts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	owned := map[string]bool{}
	for i, a := range live {
		owned[a.Execution] = true
		if !timers || i%4 != 0 {
			continue
		}
		if err := s.Settle(t.Context(), a.Fence, forAWhile()); err != nil {
			t.Fatal(err)
		}
		delete(owned, a.Execution)
		c.waits++
	}
	page, err := s.List(t.Context(), store.Query{
		Kind: resourcev1.ResourceKind_agent_execution, Limit: 1000,
		Where: []store.Condition{{Column: store.Column{Name: "index", Index: 1}, Op: store.Eq, Value: "running"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range page.Rows {
		if !owned[row.ID] {
			t.Errorf("execution %s says running, and nobody owns it", row.ID)
		}
	}
	if len(page.Rows) != len(owned) {
		t.Errorf("%d executions say running and %d are owned", len(page.Rows), len(owned))
	}
}

// forAWhile settles an attempt until a timer of the ledger.
func forAWhile() store.Settlement {
	now := time.Now()
	return store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_waiting, WaitingFor: "a_while", Until: now.Add(1500 * time.Millisecond), Now: now,
		Events: func(store.Totals) []*eventv1.Event {
			return []*eventv1.Event{event.New(now, &eventv1.TurnWaiting{WaitingFor: "a_while"})}
		},
	}
}

// allTime guards against a turn that is never taken up. How long all of many may take
// is no promise and depends on the machine; that the first is soon taken up, is one.
const allTime = 3 * time.Minute

// taken waits until none of the turns is queued: each is owned again, waits for
// something with a name, or has ended. The first is owned within the promised time.
func (c *crowd) taken(t *testing.T) {
	t.Helper()
	for first := false; ; <-time.NewTimer(20 * time.Millisecond).C {
		queued, running := "", 0
		for _, x := range c.list(t) {
			switch x.GetStatus().GetPhase() {
			case agentexecutionv1.ExecutionPhase_queued:
				queued = x.GetMetadata().GetId()
			case agentexecutionv1.ExecutionPhase_running:
				running++
			case agentexecutionv1.ExecutionPhase_waiting:
				goOn(t, c.server, x.GetMetadata().GetId())
			}
		}
		since := time.Since(c.server.Ready)
		first = first || running > 0
		switch {
		case queued == "":
			c.slowest = max(c.slowest, since)
			return
		case !first && since > recoveryTime:
			t.Fatalf("none of the turns is taken up %s after the server was ready", recoveryTime)
		case since > allTime:
			t.Fatalf("execution %s is taken up by nobody %s after the server was ready", queued, allTime)
		}
	}
}

// list is the turns of this crowd: the newest.
func (c *crowd) list(t *testing.T) []*agentexecutionv1.AgentExecution {
	t.Helper()
	res, err := c.server.Executions().List(t.Context(), connect.NewRequest(&resourcev1.ListRequest{PageSize: inFlight}))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetAgentExecutions()
}

// finish looks after the turns until all have ended.
func (c *crowd) finish(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; <-time.NewTimer(50 * time.Millisecond).C {
		open := 0
		for _, x := range c.list(t) {
			if x.GetStatus().GetEndedAt() == nil {
				open++
				goOn(t, c.server, x.GetMetadata().GetId())
			}
		}
		if open == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d turns do not end", open)
		}
	}
}

// judge checks that each turn completed once, without a gap, and each command's
// line stands at most once.
func (c *crowd) judge(t *testing.T) {
	t.Helper()
	for i, execution := range c.executions {
		log := events(t, c.server, c.sessions[execution])
		for n, e := range log {
			if e.GetSeq() != int64(n+1) {
				t.Fatalf("the log of %s has a gap at %d", c.sessions[execution], n+1)
			}
		}
		if count(log, "turn.completed") != 1 || count(log, "turn.failed")+count(log, "turn.cancelled") != 0 {
			t.Errorf("turn %d ended in another way than completed once", i)
		}
		if i%2 == 0 {
			continue
		}
		journal, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprintf("folder-%02d", i), "journal.txt"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		unknown := count(log, "agent.tool.outcome_unknown")
		if got := count(log, "agent.tool.completed") + unknown; got != crowdSteps {
			t.Errorf("turn %d has an outcome for %d commands, want %d", i, got, crowdSteps)
		}
		for n := range crowdSteps {
			if strings.Count(string(journal), fmt.Sprintf("%d\n", n)) > 1 {
				t.Errorf("turn %d ran command %d more than once:\n%s", i, n, journal)
			}
		}
		if lines := strings.Count(string(journal), "\n"); lines < crowdSteps-unknown {
			t.Errorf("turn %d wrote %d lines, and only %d commands are unknown", i, lines, unknown)
		}
	}
}

// awake waits until somebody works on many of the turns.
func (c *crowd) awake(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(allTime); ; <-time.NewTimer(20 * time.Millisecond).C {
		busy := 0
		for _, x := range c.list(t) {
			if x.GetStatus().GetPhase() == agentexecutionv1.ExecutionPhase_running {
				busy++
			}
		}
		if busy > inFlight/4 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("only %d of %d turns are at work", busy, inFlight)
		}
	}
}
