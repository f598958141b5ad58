// Package chaos kills the built binary at random instants while turns work, and
// looks at what is left: the promise is that nothing is lost, done twice or out
// of order.
//
// CADRE_CHAOS_KILLS is the number of kills (default 5) and CADRE_CHAOS_SEED the
// seed of a run that is to be repeated; each run prints its own.
package chaos

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"connectrpc.com/connect"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/test/built"
)

func TestMain(m *testing.M) { built.Main(m) }

const (
	defaultKills = 5
	turnSteps    = 20
	stepDelay    = 150 * time.Millisecond
	// longestLife is how long a server may live between its readiness and the next
	// kill: a few steps of a turn.
	longestLife = 600 * time.Millisecond
	// recoveryTime is how soon after its readiness a server takes a turn up again.
	recoveryTime = 5 * time.Second
)

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s is no number", name, text)
	}
	return n
}

// chance reads how many kills are asked for and makes the source of chance.
func chance(t *testing.T) (kills int, random *rand.Rand) {
	t.Helper()
	kills = int(number(t, "CADRE_CHAOS_KILLS", defaultKills))
	seed := number(t, "CADRE_CHAOS_SEED", uint64(time.Now().UnixNano()))
	t.Logf("%d kills with CADRE_CHAOS_SEED=%d", kills, seed)
	return kills, rand.New(rand.NewPCG(seed, 0))
}

// Seeded kills during turns of twenty steps of edits and commands: each edit is
// made exactly once, each command's line stands at most once, each interrupted
// command says so and the turn goes on, and the log has no gap. Reliability lines
// 3 and 4.
func TestKillsAtRandomInstants(t *testing.T) {
	t.Parallel()
	sum := hunt(t, func(s *built.Server) error { return s.Kill() })
	if sum.interrupted != 0 {
		t.Errorf("%d commands were told to be interrupted by servers that could tell nothing", sum.interrupted)
	}
}

// The same with servers that stop in order: nothing is unknown then.
func TestStopsInsteadOfKills(t *testing.T) {
	t.Parallel()
	if sum := hunt(t, func(s *built.Server) error { return s.Stop() }); sum.unknown != 0 {
		t.Errorf("the outcome of %d commands is unknown after orderly stops", sum.unknown)
	}
}

// dispatch is how the n-th server begins turns: by itself, or by way of its engine. What
// one began, the other takes over.
func dispatch(n int) []string {
	return []string{"CADRE_DISPATCH=" + []string{"direct", "engine"}[n%2]}
}

// hunt ends the server at random instants of turns, one turn after the other.
func hunt(t *testing.T, end func(*built.Server) error) tally {
	t.Helper()
	kills, random := chance(t)
	server := built.Start(t, filepath.Join(t.TempDir(), "data"))
	var sum tally
	turns := 0
	for done := 0; done < kills; turns++ {
		j := begin(t, server, turnSteps, stepDelay)
		server.AwaitType(t, j.session, "turn.started", 1)
		viewer := j.view(t)
		boots := []time.Time{server.Ready}
		for done < kills && j.wait(t, random) {
			if err := end(server); err != nil {
				t.Fatal(err)
			}
			done++
			server.Env = dispatch(done)
			server.Start(t)
			boots = append(boots, server.Ready)
		}
		j.finish(t)
		events := j.events(t)
		recoveries(t, events, boots)
		one := j.judge(t, events)
		viewer.compare(t, events)
		sum = tally{sum.edits + one.edits, sum.commands + one.commands, sum.unknown + one.unknown, sum.interrupted + one.interrupted, sum.refused + one.refused}
	}
	t.Logf("%d ends in %d turns: %d edits, %d commands, %d of them with an unknown outcome and %d interrupted",
		kills, turns, sum.edits, sum.commands, sum.unknown, sum.interrupted)
	if turns*4 > kills*3 && kills >= 4 {
		t.Errorf("there was too little traffic: %d ends over %d turns", kills, turns)
	}
	return sum
}

// sharp are the events right after which something is half done.
var sharp = []string{"turn.recovery.requested", "agent.model.request", "agent.message.delta", "agent.tool.requested", "agent.tool.started", "agent.tool.completed"}

// wait lets the server live for a while once the turn is at work: a random time,
// or until the next event of a random type, at most longestLife. It is false when
// the turn has ended.
func (j *job) wait(t *testing.T, random *rand.Rand) bool {
	t.Helper()
	if !j.atWork(t) {
		return false
	}
	life := time.Duration(random.Int64N(int64(longestLife)))
	typ := sharp[random.IntN(len(sharp))]
	if random.IntN(2) == 0 {
		<-time.NewTimer(life).C
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), longestLife)
	defer cancel()
	stream, err := j.server.Sessions().SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{
		SessionId: j.session, After: strconv.Itoa(len(j.events(t))), Filter: &sessionv1.EventFilter{DurableOnly: true},
	}))
	if err != nil {
		return true // it took too long already
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		if stream.Msg().GetEvent().GetType() == typ {
			return true
		}
	}
	return true
}

// atWork waits until somebody works on the turn, letting it go on when it waits.
// It is false when the turn has ended.
func (j *job) atWork(t *testing.T) bool {
	t.Helper()
	for end := time.Now().Add(recoveryTime + 20*time.Second); ; {
		switch phase := goOn(t, j.server, j.execution); phase {
		case agentexecutionv1.ExecutionPhase_running:
			return true
		case agentexecutionv1.ExecutionPhase_completed, agentexecutionv1.ExecutionPhase_failed, agentexecutionv1.ExecutionPhase_cancelled:
			return false
		default:
			if time.Now().After(end) {
				t.Fatalf("nobody takes the turn up: it is %s", phase)
			}
		}
		<-time.NewTimer(10 * time.Millisecond).C
	}
}

// finish looks after the turn until it has ended.
func (j *job) finish(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); j.atWork(t); <-time.NewTimer(20 * time.Millisecond).C {
		if time.Now().After(end) {
			t.Fatal("the turn does not end")
		}
	}
}

// The end of a process is no fault of the turn: it goes on however often the
// server dies before it could do anything.
func TestKillsBeforeAnyProgress(t *testing.T) {
	t.Parallel()
	server := built.Start(t, filepath.Join(t.TempDir(), "data"))
	j := begin(t, server, 2, 2*time.Second)
	server.AwaitType(t, j.session, "turn.started", 1)
	boots := []time.Time{server.Ready}
	const kills = 6
	for i := range kills {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		server.Start(t)
		boots = append(boots, server.Ready)
		server.AwaitType(t, j.session, "turn.recovery.requested", i+1)
	}
	j.finish(t)
	events := j.events(t)
	if got := count(events, "turn.recovery.requested"); got != kills {
		t.Errorf("the turn was taken up %d times, want %d", got, kills)
	}
	recoveries(t, events, boots)
	j.judge(t, events)
}
