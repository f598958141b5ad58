package e2e

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/test/built"
)

const (
	crowdSize  = 1000
	crowdCuts  = 10 // reconnects of each subscriber, besides those of the restart
	crowdSteps = 30
	// crowdConns is how many connections the crowd shares.
	crowdConns = 10
	// crowdTime bounds the wait for all: it takes some twenty seconds on two cores.
	crowdTime = 8 * time.Minute
)

// march is a turn of some hundred events over some seconds.
func march() string {
	var s strings.Builder
	s.WriteString("steps:\n")
	for i := range crowdSteps {
		fmt.Fprintf(&s, "  - {text: \"Step %d.\", delay: 300ms, tools: [{name: list, args: {path: \".\"}}]}\n", i)
	}
	s.WriteString("  - text: Done.\n")
	return s.String()
}

// The promise of streams, in large: 1 000 subscribers over ten reconnects each, half
// of them on each wire, see every id once and in order, also over a restart by
// kill -9 in the middle of the turn.
func TestAThousandSubscribersSeeEveryEventOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	agent(t, s, "march", script(t, march()), "list")
	session := silent(t, s.Sessions(), "march")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), crowdTime)
	defer cancel()

	c := newCrowd(session, s)
	defer c.close()
	subscribers := make([]*subscriber, crowdSize)
	var all sync.WaitGroup
	for i := range subscribers {
		sub := &subscriber{crowd: c, number: i, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		subscribers[i] = sub
		all.Go(func() { sub.err = sub.work(ctx) })
	}
	tell(t, s.Sessions(), session, "go")
	s.AwaitType(t, session, "agent.tool.completed", crowdSteps/2)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	c.moved(s)
	all.Wait()
	c.judge(ctx, t, subscribers)
}

// crowd is what the subscribers share. Safe for concurrent use.
type crowd struct {
	session string
	clients []*http.Client
	hash    maphash.Seed

	mu    sync.Mutex
	url   string
	start int           // how often the server was started
	again chan struct{} // closed at the next start
}

// bearing puts a token on each request of a transport.
type bearing struct {
	*http.Transport
	token string
}

// RoundTrip sends one request.
func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(r)
}

func newCrowd(session string, s *built.Server) *crowd {
	c := &crowd{session: session, hash: maphash.MakeSeed(), again: make(chan struct{})}
	for range crowdConns {
		p := &http.Protocols{}
		p.SetUnencryptedHTTP2(true)
		c.clients = append(c.clients, &http.Client{Transport: bearing{&http.Transport{Protocols: p}, s.Token}})
	}
	c.moved(s)
	return c
}

func (c *crowd) close() {
	for _, client := range c.clients {
		client.CloseIdleConnections()
	}
}

// moved tells all that the server is elsewhere now.
func (c *crowd) moved(s *built.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.url = s.URL
	c.start++
	close(c.again)
	c.again = make(chan struct{})
}

func (c *crowd) where() (url string, start int, again <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.url, c.start, c.again
}

// subscriber follows the session and is cut off by itself and by the restart.
type subscriber struct {
	*crowd
	number int
	random *rand.Rand
	ids    []string
	sums   []uint64 // of each frame's bytes
	cuts   int
	broken int // streams that ended by themselves
	err    error
}

func (s *subscriber) wire() string { return wires[s.number%len(wires)] }

// work reads until the turn's end. A stream that breaks is opened again once the
// server was started anew.
func (s *subscriber) work(ctx context.Context) error {
	for {
		url, start, again := s.where()
		done, err := s.read(ctx, endpoint{s.clients[s.number%len(s.clients)], url})
		if done {
			return nil
		}
		if err == nil {
			s.cuts++
			continue
		}
		if s.broken++; s.broken > 1 {
			return fmt.Errorf("on start %d of the server: %w", start, err)
		}
		select {
		case <-again:
		case <-ctx.Done():
			return fmt.Errorf("on start %d of the server: %w", start, err)
		}
	}
}

// read goes on after the last id and reads some frames, or all that are left once
// it was cut off often enough.
func (s *subscriber) read(ctx context.Context, e endpoint) (done bool, err error) {
	after := ""
	if n := len(s.ids); n > 0 {
		after = s.ids[n-1]
	}
	st, err := s.open(ctx, e, s.wire(), after)
	if err != nil {
		return false, err
	}
	defer st.close()
	for n := 1 + s.random.IntN(16); n > 0 || s.cuts >= crowdCuts; n-- {
		f, ok := st.next()
		if !ok {
			return false, fmt.Errorf("the stream ended after %q", after)
		}
		s.ids = append(s.ids, f.id)
		s.sums = append(s.sums, s.sum(f))
		after = f.id
		if f.event == "turn.completed" {
			return true, nil
		}
	}
	return false, nil
}

// open is follow with frames that cost little.
func (c *crowd) open(ctx context.Context, e endpoint, wire, after string) (source, error) {
	st, err := e.follow(ctx, wire, c.session, after, &sessionv1.EventFilter{DurableOnly: true})
	if called, ok := st.(*called); ok {
		called.binary = true
	}
	return st, err
}

func (c *crowd) sum(f frame) uint64 { return maphash.String(c.hash, f.id+"\n"+f.event+"\n"+f.data) }

// judge compares what each subscriber saw with the log.
func (c *crowd) judge(ctx context.Context, t *testing.T, all []*subscriber) {
	t.Helper()
	logs := map[string][]frame{}
	for _, wire := range wires {
		logs[wire] = c.log(ctx, t, wire)
	}
	cuts, broken, wrong := 0, 0, 0
	for _, s := range all {
		cuts += s.cuts
		broken += s.broken
		if why := s.wrong(logs[s.wire()]); why != "" {
			if wrong++; wrong <= 5 {
				t.Errorf("subscriber %d on %s: %s", s.number, s.wire(), why)
			}
		}
	}
	t.Logf("%d events, %d reconnects, %d streams broken by the restart, %d subscribers wrong", len(logs[wires[0]]), cuts, broken, wrong)
	if len(logs[wires[0]]) < 6*crowdSteps || broken < crowdSize*9/10 {
		t.Error("there was too little traffic, or the restart broke too few streams")
	}
}

// log is the whole log as a wire shows it.
func (c *crowd) log(ctx context.Context, t *testing.T, wire string) []frame {
	t.Helper()
	url, _, _ := c.where()
	st, err := c.open(ctx, endpoint{c.clients[0], url}, wire, "")
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	var log []frame
	for len(log) == 0 || log[len(log)-1].event != "turn.completed" {
		f, ok := st.next()
		if !ok {
			t.Fatalf("on %s the log's end does not come", wire)
		}
		log = append(log, f)
	}
	return log
}

func (s *subscriber) wrong(log []frame) string {
	if s.err != nil {
		return s.err.Error()
	}
	if s.cuts < crowdCuts {
		return fmt.Sprintf("it was cut off %d times only", s.cuts)
	}
	for i, id := range s.ids {
		switch {
		case i >= len(log):
			return fmt.Sprintf("it saw %s after the log's end", id)
		case id != log[i].id:
			return fmt.Sprintf("its frame %d is %s, the log has %s there", i+1, id, log[i].id)
		case s.sums[i] != s.sum(log[i]):
			return fmt.Sprintf("its frame %s has other bytes than the log's", id)
		}
	}
	if len(s.ids) != len(log) {
		return fmt.Sprintf("it saw %d of %d events", len(s.ids), len(log))
	}
	return ""
}
