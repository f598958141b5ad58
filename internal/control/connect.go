package control

import (
	"context"
	"errors"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

// Waits between tries to tell a connected engine what is open.
const (
	firstTry   = 100 * time.Millisecond
	longestTry = 5 * time.Second
)

// Connected notes that the engine can be reached; what follows from it happens in
// follow. Before Start it waits for Start.
func (c *Control) Connected(_ context.Context, id string) {
	c.memory.Store(id)
	select {
	case c.reached <- struct{}{}:
	default: // one waits already, and the newest id counts
	}
}

// follow welcomes the engine each time that it was reached, until it succeeds.
func (c *Control) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.reached:
		}
		for wait := firstTry; ; wait = min(2*wait, longestTry) {
			err := c.welcome(ctx, c.memory.Load().(string))
			if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrOtherEngine) { // beat tries that again
				break
			}
			c.Log.WarnContext(ctx, "the engine was reached and not told what is open; it is tried again", "after", wait, "error", err)
			select {
			case <-ctx.Done():
			case <-c.reached:
			case <-time.After(wait):
			}
		}
	}
}

// welcome takes over what dead processes left in the engine and tells it
// everything that is open, which it may have forgotten or never heard.
func (c *Control) welcome(ctx context.Context, id string) error {
	if err := c.adopt(ctx, id); err != nil {
		return err
	}
	return c.nudgeAll(ctx)
}

// adopt binds the ledger to the engine and fails the attempts of earlier processes
// in it, so that their sessions peek again now and not after a heartbeat's timeout.
func (c *Control) adopt(ctx context.Context, id string) error {
	known, err := c.bind(ctx, id)
	if err != nil {
		return err
	}
	var refs []engine.ActivityRef
	for _, a := range c.left {
		if a.Activity != "" && known == id {
			refs = append(refs, engine.ActivityRef{Workflow: a.Workflow, Run: a.Run, Activity: a.Activity})
		}
	}
	if known != id {
		c.changed(ctx, known, id)
	}
	return c.Engine.Abandon(ctx, refs)
}

// bind makes the engine the one of this ledger and answers the one before.
func (c *Control) bind(ctx context.Context, id string) (before string, err error) {
	if c.Shared != nil {
		return c.bindShared(ctx, id)
	}
	if before, err = c.Store.EngineID(ctx); err != nil || before == id {
		return before, err
	}
	return before, c.Store.SetEngineID(ctx, id)
}

// changed says that the ledger's wake-ups go to another memory from now on.
func (c *Control) changed(ctx context.Context, before, now string) {
	if before == "" {
		c.Log.InfoContext(ctx, "engine is bound", "engine_id", now)
		return
	}
	c.Log.WarnContext(ctx, "engine has changed; everything open is told to it again", "engine_before", before, "engine_id", now)
}
