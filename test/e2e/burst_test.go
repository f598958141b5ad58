package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	burstDeltas  = 10_000 // parts of each of the two answers
	burstReaders = 8
	burstCuts    = 200 // reconnects of all readers together
)

// tale is a text of n parts, each of which can be told from all others.
func tale(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "%05d ", i)
	}
	return s.String()
}

// burst answers with all its parts at once, and after a tool's call with as many
// that trickle in.
func burst() string {
	return fmt.Sprintf(`
steps:
  - {text: %[1]q, chunk: 6, tools: [{name: list, args: {path: "."}}]}
  - {text: %[1]q, chunk: 6, chunk_delay: 1ms}
`, tale(burstDeltas))
}

// quality.md, Reliability 1: a burst of 10 000 deltas, 200 reconnects at random ids,
// half of them on each wire: nothing lost, twice, or out of order.
func TestABurstOverReconnectsAtRandomIDs(t *testing.T) {
	t.Parallel()
	s := shared(t)
	agent(t, s, "burst", script(t, burst()), "list")
	session := silent(t, s.Sessions(), "burst")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), streamTime)
	defer cancel()

	var all sync.WaitGroup
	var early atomic.Int64 // reconnects while the turn ran
	readers := make([]*jumper, burstReaders)
	for i := range readers {
		j := &jumper{endpoint: endpoint{s.HTTP(), s.URL}, session: session, random: rand.New(rand.NewPCG(seed, uint64(i))), number: i}
		readers[i] = j
		all.Go(func() {
			for range burstCuts / burstReaders {
				if err := j.jump(ctx, 1+j.random.IntN(8)); err != nil {
					t.Errorf("reader %d: %v", i, err)
					return
				}
				if !j.ended {
					early.Add(1)
				}
			}
			if err := j.finish(ctx); err != nil {
				t.Errorf("reader %d: %v", i, err)
			}
		})
	}
	tell(t, s.Sessions(), session, "go")
	all.Wait()
	want := durable(open(t, s, session, "", "").until(t, "turn.completed", 1))
	for i, j := range readers {
		if diff := differ(j.seen, want); diff != "" {
			t.Errorf("reader %d: %s", i, diff)
		}
	}
	if n := early.Load(); n < burstCuts/2 {
		t.Errorf("only %d of %d reconnects came while the turn ran: there was too little traffic", n, burstCuts)
	}
	whole(t, want)
}

// whole checks that the deltas of both answers make up all that was said.
func whole(t *testing.T, log []frame) {
	t.Helper()
	deltas(t, log)
	answers, pieces := 0, 0
	for _, f := range log {
		switch f.event {
		case "agent.message.delta":
			pieces++
		case "agent.message.completed":
			var e struct{ AgentMessageCompleted struct{ Text string } }
			if err := json.Unmarshal([]byte(f.data), &e); err != nil {
				t.Fatal(err)
			}
			if e.AgentMessageCompleted.Text != tale(burstDeltas) {
				t.Errorf("an answer has %d bytes and is not what the model said", len(e.AgentMessageCompleted.Text))
			}
			answers++
		}
	}
	if answers != 2 || pieces < 20 {
		t.Errorf("there are %d answers in %d durable pieces", answers, pieces)
	}
}

// jumper is a reader that is cut off again and again and goes on after any id that
// it has seen.
type jumper struct {
	endpoint
	session string
	random  *rand.Rand
	number  int
	cuts    int
	seen    []frame
	ended   bool // the turn's end was seen
}

// jump connects after a random id, or half of the time after the last one. It must
// see again what it saw, and then reads n frames more.
func (j *jumper) jump(ctx context.Context, n int) error {
	at, after := len(j.seen), ""
	if j.random.IntN(2) == 0 {
		at = j.random.IntN(at + 1)
	}
	if at > 0 {
		after = j.seen[at-1].id
	}
	wire := wires[(j.number+j.cuts)%len(wires)]
	j.cuts++
	s, err := j.follow(ctx, wire, j.session, after, nil)
	if err != nil {
		return err
	}
	defer s.close()
	again, err := take(s, len(j.seen)-at)
	if err != nil {
		return err
	}
	if diff := differ(again, j.seen[at:]); diff != "" {
		return fmt.Errorf("after %s on %s: %s", after, wire, diff)
	}
	for ; n > 0 && !j.ended; n-- {
		more, err := take(s, 1)
		if err != nil {
			return err
		}
		j.seen = append(j.seen, more...)
		j.ended = more[0].event == "turn.completed"
	}
	return nil
}

// finish reads to the turn's end.
func (j *jumper) finish(ctx context.Context) error { return j.jump(ctx, 1<<30) }
