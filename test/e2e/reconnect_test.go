package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

// reconnects is how often the reader below is cut off.
const reconnects = 50

// quality.md, Reliability 1, in small
func TestReconnectsSeeEveryEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := shared(t)
	session := talk(t, s, "reconnected")
	const turns = 4
	for range turns - 1 {
		if _, err := s.Sessions().SendMessage(t.Context(), connect.NewRequest(&sessionv1.SendMessageRequest{SessionId: session, Message: "more"})); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var seen []frame
	last := ""
	for range reconnects {
		st := open(t, s, session, "", last)
		for n := 1 + random.IntN(2); n > 0; {
			f, ok := st.next()
			if !ok {
				t.Fatalf("the stream ended after %d frames", len(seen))
			}
			if f.id != "" {
				seen, last = append(seen, f), f.id
				n--
			}
		}
		st.close()
		if ends(seen) == turns {
			t.Fatalf("the log has too few events to be cut off %d times", reconnects)
		}
	}
	seen = append(seen, durable(open(t, s, session, "", last).until(t, "turn.completed", turns-ends(seen)))...)
	want := durable(open(t, s, session, "", "").until(t, "turn.completed", turns))
	if !slices.Equal(seen, want) {
		t.Errorf("over reconnects %d frames came, of a log of %d:\n%v\n%v", len(seen), len(want), eventNames(seen), eventNames(want))
	}
}

// ends counts the turns that have ended.
func ends(frames []frame) int {
	n := 0
	for _, f := range frames {
		if f.event == "turn.completed" {
			n++
		}
	}
	return n
}
