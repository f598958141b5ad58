package control

import (
	"context"
	"errors"
	"sync"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/store"
)

// mostDirect is how many sessions are worked on at once without the engine. What
// comes beyond waits its turn in the engine.
const mostDirect = 128

// direct works on sessions right after a wake, without a way through the engine:
// it peeks and runs attempts until nothing is left to run. The ledger decides who
// owns an execution, so that the engine may look at the same session at any time.
// Everything that is no attempt (a timer, an interruption, a failure) goes to the
// engine, and so does what a dead process left: the ledger tells the engine what is
// open at each start.
type direct struct {
	mu   sync.Mutex
	busy map[string]bool // sessions that are worked on; true when one was woken meanwhile
}

// enter takes a session. It tells whether somebody works on it already, who then
// looks again, and whether there is room for it.
func (d *direct) enter(session string) (taken, room bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, busy := d.busy[session]; busy {
		d.busy[session] = true
		return true, true
	}
	if len(d.busy) >= mostDirect {
		return false, false
	}
	d.busy[session] = false
	return false, true
}

// leave gives a session up, unless it was woken since the last look.
func (d *direct) leave(session string, last bool) (left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[session] && !last {
		d.busy[session] = false
		return false
	}
	delete(d.busy, session)
	return true
}

// begin works on a session here and now, if that may be.
func (c *Control) begin(n store.Nudge) bool {
	if !c.Direct || c.work == nil || c.work.Err() != nil || c.Refusal() != nil {
		return false
	}
	taken, room := c.direct.enter(n.Session)
	if room && !taken {
		failpoint.Hit("wake.before")
		c.running.Go(func() { c.serve(c.work, n) })
		failpoint.Hit("wake.after")
	}
	return room
}

// serve runs a session's attempts until there are none. What it cannot do itself it
// leaves to the engine.
func (c *Control) serve(ctx context.Context, n store.Nudge) {
	for {
		idle, err := c.step(ctx, n.Session)
		c.note(err)
		switch {
		case err != nil || !idle:
			c.direct.leave(n.Session, true)
			c.tell(n)
			return
		case c.direct.leave(n.Session, false):
			return
		}
	}
}

// step peeks and runs what is to run, until nothing is. It answers false for what the
// engine must look after.
func (c *Control) step(ctx context.Context, session string) (idle bool, err error) {
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		work, err := c.Store.Peek(ctx, session, c.Now())
		if err != nil {
			return false, err
		}
		switch d := c.decide(work); d.Verb {
		case engine.Run:
			a := engine.Attempt{Session: session, Execution: d.Execution, ID: id.New("att")}
			if err := c.attempt(ctx, a, work.Attempt.Attempt); err != nil {
				return false, err
			}
		case engine.Idle:
			return true, nil
		default:
			return false, nil
		}
	}
}

// attempt runs one attempt and says in the log when it ended without an outcome.
func (c *Control) attempt(ctx context.Context, a engine.Attempt, gone string) error {
	failpoint.Hit("attempt.before")
	err := c.Runner.Run(ctx, a, gone)
	failpoint.Hit("attempt.after") // what follows tells the engine
	if errors.Is(err, store.ErrNoWork) || errors.Is(err, store.ErrOwned) {
		return nil
	}
	if err != nil {
		c.note(err)
		c.Log.WarnContext(ctx, "attempt ended without an outcome", "session", a.Session, "execution", a.Execution, "attempt", a.ID, "error", err)
	}
	return err
}
