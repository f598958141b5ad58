package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// traffic is how much clients do to one session, and how long the judge may look for
// an order of it. The search grows fast with the clients that are busy at once.
type traffic struct {
	clients, each int
	judge         time.Duration
}

var (
	many = traffic{clients: 16, each: 12, judge: 2 * time.Minute}
	few  = traffic{clients: 6, each: 50, judge: 30 * time.Second} // with them what is wrong is found soon
)

// rounds is how often the clients begin at most, until they have met every kind of
// conflict.
const rounds = 5

// histories is quality.md, Reliability 8: a checker judges the ledger's history.
func histories(t *testing.T, open Open) {
	seed := uint64(time.Now().UnixNano())
	for round := range uint64(2) {
		if err := Linearizable(t.Context(), seed+round, open(t)); err != nil {
			t.Error(err)
		}
	}
}

// Linearizable has 16 clients claim, write, release and settle one session's work at
// once, with proofs and fences that are right, stale or made up, and checks that
// what each was told can be put in one order that the model of a ledger allows.
// Several stores are several handles of one database: the clients share them out.
// An error names the seed and shows the history.
func Linearizable(ctx context.Context, seed uint64, handles ...store.Ledger) error {
	return many.linearizable(ctx, seed, handles)
}

func (tr traffic) linearizable(ctx context.Context, seed uint64, handles []store.Ledger) error {
	h := &history{session: newSession("")}
	if err := handles[0].CreateSession(ctx, *h.session, nil); err != nil {
		return err
	}
	var crowd []*client
	for i := range tr.clients {
		crowd = append(crowd, &client{history: h, number: i, ledger: handles[i%len(handles)], random: rand.New(rand.NewPCG(seed, uint64(i)))})
	}
	for range rounds {
		var all sync.WaitGroup
		for _, c := range crowd {
			all.Go(func() { c.work(ctx, tr.each) })
		}
		all.Wait()
		if h.failed != nil {
			return fmt.Errorf("seed %d: %w", seed, h.failed)
		}
		if h.enough() == nil {
			break
		}
	}
	if verdict, why := porcupine.CheckOperationsVerbose(sequential, h.operations, tr.judge); verdict != porcupine.Ok {
		return fmt.Errorf("seed %d: no order of these operations is one of a ledger (%s):\n%s", seed, verdict, describe(h.operations, why))
	}
	if err := h.enough(); err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	return h.notLost(ctx, handles[0])
}

// history is what clients did to one session. Safe for concurrent use.
type history struct {
	session *store.NewSession
	clock   atomic.Int64 // orders beginnings and ends

	mu         sync.Mutex
	operations []porcupine.Operation
	fences     []store.Fence // all that were ever won
	failed     error         // the first answer that no ledger gives
}

// enough refuses a history that met no conflict: it would prove nothing.
func (h *history) enough() error {
	seen := map[string]int{}
	for _, o := range h.operations {
		seen[string(o.Input.(asked).verb)+" "+o.Output.(told).outcome]++
	}
	for _, want := range []string{"claim ok", "claim owned", "append ok", "append fenced", "settle ok", "read ok"} {
		if seen[want] == 0 {
			return fmt.Errorf("there was too little traffic: nothing like %q in %v", want, seen)
		}
	}
	return nil
}

// notLost checks that a wake-up is kept for what is left and owned by nobody.
func (h *history) notLost(ctx context.Context, l store.Ledger) error {
	w, err := l.Peek(ctx, h.session.Row.ID, epoch)
	if err != nil || w.State != store.WorkClaim || w.Attempt.Attempt != "" {
		return err
	}
	nudges, err := l.Stale(ctx, epoch.Add(time.Hour), epoch, 10)
	if err == nil && len(nudges) != 1 {
		err = fmt.Errorf("execution %s is left to claim, and nothing will wake its session", w.Execution)
	}
	return err
}

// client does random operations, one after the other. What it asks for follows from
// its seed and from what it was told.
type client struct {
	*history
	number int
	ledger store.Ledger
	random *rand.Rand
	seen   store.Fence // what the last peek showed
	own    store.Fence // what the last claim won
	marks  int
}

func (c *client) work(ctx context.Context, each int) {
	for range each {
		a := c.choose()
		began := c.clock.Add(1)
		out, err := c.do(ctx, a)
		ended := c.clock.Add(1)
		c.note(porcupine.Operation{ClientId: c.number, Input: a, Output: out, Call: began, Return: ended}, err)
		if err != nil {
			return
		}
	}
}

func (c *client) note(o porcupine.Operation, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.failed == nil {
		c.failed = fmt.Errorf("%s: %w", sequential.DescribeOperation(o.Input, o.Output), err)
	}
	c.operations = append(c.operations, o)
	out, _ := o.Output.(told)
	switch in, _ := o.Input.(asked); {
	case in.verb == doPeek:
		c.seen = out.fence
	case in.verb == doClaim && out.outcome == isOK:
		c.own = out.fence
		c.fences = append(c.fences, out.fence)
	case in.fence == c.own && out.outcome != isOK || in.verb == doSettle || in.verb == doRelease:
		c.own = store.Fence{} // no longer its own
	}
}

// choose picks the next operation.
func (c *client) choose() asked {
	c.marks++
	mark := fmt.Sprintf("%d.%d", c.number, c.marks)
	fence := c.someFence()
	switch n := c.random.IntN(100); {
	case n < 10:
		return asked{verb: doAccept, fence: store.Fence{Execution: "aex_" + mark}}
	case n < 35 || n < 60 && c.seen.Execution == "":
		return asked{verb: doPeek}
	case n >= 60 && n < 95 && fence.Execution == "": // nobody has claimed yet
		return asked{verb: doPeek}
	case n < 60:
		a := asked{verb: doClaim, fence: store.Fence{Execution: c.seen.Execution, Attempt: "att_" + mark}, mark: mark}
		if c.random.IntN(3) == 0 {
			a.gone = c.seen.Attempt
		}
		return a
	case n < 80:
		return asked{verb: doAppend, fence: fence, mark: mark}
	case n < 84:
		return asked{verb: doRelease, fence: fence}
	case n < 95:
		return asked{verb: doSettle, fence: fence, mark: mark}
	default:
		return asked{verb: doRead}
	}
}

// someFence is the client's own, or any that was ever won.
func (c *client) someFence() store.Fence {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.fences) == 0 || c.own.Attempt != "" && c.random.IntN(4) > 0 {
		return c.own
	}
	return c.fences[c.random.IntN(len(c.fences))]
}

// do performs one operation. An error is one that no ledger gives.
func (c *client) do(ctx context.Context, a asked) (told, error) {
	session := c.session.Row.ID
	f := a.fence
	f.Session = session
	left := delta(a.mark) // the store fills in its number
	var out told
	var err error
	switch a.verb {
	case doAccept:
		in := input(nil, session, "go")
		in.Execution, in.Events = executionNamed(f.Execution, session), nil
		out.place, err = c.ledger.Accept(ctx, in)
	case doPeek:
		out.fence, err = c.peek(ctx, session)
	case doClaim:
		out, err = c.claim(ctx, session, a, left)
	case doAppend:
		err = c.ledger.Append(ctx, f, left)
	case doRelease:
		err = c.ledger.Release(ctx, f, "", epoch)
	case doSettle:
		end := completed()
		end.Events = func(store.Totals) []*eventv1.Event { return left }
		err = c.ledger.Settle(ctx, f, end)
	case doRead:
		out.log, err = c.read(ctx, session)
	}
	if a.mark != "" {
		out.place = left[0].GetSeq()
	}
	out.outcome, err = outcomeOf(err)
	return out, err
}

func outcomeOf(err error) (string, error) {
	switch {
	case err == nil:
		return isOK, nil
	case errors.Is(err, store.ErrFenced):
		return isFenced, nil
	case errors.Is(err, store.ErrOwned):
		return isOwned, nil
	case errors.Is(err, store.ErrNoWork):
		return isNoWork, nil
	}
	return "", err
}

func (c *client) peek(ctx context.Context, session string) (store.Fence, error) {
	w, err := c.ledger.Peek(ctx, session, epoch)
	f := store.Fence{Execution: w.Execution, Attempt: w.Attempt.Attempt, Generation: w.Attempt.Generation}
	if err == nil && (w.State == store.WorkClaim) != (w.Execution != "") {
		err = fmt.Errorf("the peek found %+v", w)
	}
	return f, err
}

func (c *client) claim(ctx context.Context, session string, a asked, left []*eventv1.Event) (told, error) {
	claim := claimOf(session, a.fence.Execution, a.gone)
	claim.Attempt = a.fence.Attempt
	claim.Events = func(store.Taken) []*eventv1.Event { return left }
	won, err := c.ledger.Claim(ctx, claim)
	if err != nil {
		return told{}, err
	}
	return told{first: won.First, fence: store.Fence{Execution: won.Execution, Attempt: won.Attempt, Generation: won.Generation}}, nil
}

// read answers the marks of the log in order: + for what counts, - for evidence.
func (c *client) read(ctx context.Context, session string) (string, error) {
	events, err := c.ledger.Events(ctx, store.EventQuery{Session: session, Limit: 100000, MaxDepth: -1, Types: []string{"agent.message.delta"}})
	var s strings.Builder
	for _, e := range events {
		s.WriteString(e.GetAgentMessageDelta().GetText())
		s.WriteString(map[bool]string{true: "+ ", false: "- "}[e.GetAssociation() == eventv1.Association_current])
	}
	return s.String(), err
}
