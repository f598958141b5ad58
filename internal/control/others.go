package control

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// beatEvery is how often this server says that it lives, where several share a store.
const beatEvery = 5 * time.Second

// others is what this server knows of those that it shares its store with.
type others struct {
	refusal atomic.Pointer[fault.Fault] // why this server runs no sessions
	hints   chan string                 // sessions that work here and that others wrote about
}

// errUnbound is the refusal until the engine was reached for the first time.
var errUnbound = fault.New(fault.Unavailable, "ENGINE_UNBOUND", "the engine was not reached yet; sessions wait").Retry()

// Refusal says why this server runs no sessions; nil when it does.
func (c *Control) Refusal() error {
	if f := c.others.refusal.Load(); f != nil {
		return f
	}
	return nil
}

// share begins to live beside other servers.
func (c *Control) share(ctx context.Context) {
	if c.Shared == nil {
		return
	}
	c.running.Go(func() { c.beat(ctx) })
	c.running.Go(func() { c.listen(ctx) })
}

// Hint takes note that another server wrote to a session's log: it may have asked for
// the end of what works here. It does not block.
func (c *Control) Hint(h store.Hint) {
	select {
	case c.others.hints <- h.Session:
	default: // the next hint or poll says it again
	}
}

func (c *Control) listen(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case session := <-c.others.hints:
			if err := c.Runner.Look(ctx, session); err != nil && ctx.Err() == nil {
				c.Log.WarnContext(ctx, "what another server asked for could not be read", "session", session, "error", err)
			}
		}
	}
}

// bindShared makes the engine the one of a shared ledger. While another server runs the
// sessions on another engine, this one runs none and says so.
func (c *Control) bindShared(ctx context.Context, id string) (before string, err error) {
	before, err = c.Shared.BindEngine(ctx, c.Node, id)
	if errors.Is(err, store.ErrOtherEngine) {
		c.refuse(ctx, fault.From(err))
		return before, err
	}
	if err == nil && c.others.refusal.Swap(nil) != nil {
		c.Log.InfoContext(ctx, "this server runs sessions", "node", c.Node, "engine_id", id)
	}
	return before, err
}

func (c *Control) refuse(ctx context.Context, why *fault.Fault) {
	if was := c.others.refusal.Swap(why); was == nil || was.Message != why.Message {
		c.Log.WarnContext(ctx, "this server runs no sessions", "error", why)
	}
}

// beat says every few seconds that this server lives, and binds the engine anew when
// that was not heard for too long and another server took the sessions over.
func (c *Control) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, rejoined, err := c.Shared.Beat(ctx, c.Node)
		switch {
		case errors.Is(err, store.ErrNodeTaken):
			c.refuse(ctx, fault.From(err))
		case err != nil:
			if ctx.Err() == nil {
				c.Log.WarnContext(ctx, "the other servers were not told that this one lives", "error", err)
			}
		case rejoined:
			c.Log.WarnContext(ctx, "this server was taken for gone, and is known again", "node", c.Node)
			c.bindAgain()
		default:
			c.rebind(ctx)
		}
	}
}

// rebind looks whether the ledger still belongs to this server's engine.
func (c *Control) rebind(ctx context.Context) {
	id, reached := c.memory.Load().(string)
	if !reached {
		return
	}
	if known, err := c.Store.EngineID(ctx); err != nil || known == id && c.Refusal() == nil {
		return
	}
	c.bindAgain()
}

// bindAgain has welcome bind the engine, or say why not.
func (c *Control) bindAgain() {
	select {
	case c.reached <- struct{}{}:
	default:
	}
}
