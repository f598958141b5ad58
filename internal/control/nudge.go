package control

import (
	"context"
	"log/slog"
	"time"

	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/store"
)

// nudgers is how many wakes are on their way to the engine at once.
const nudgers = 16

// openPage is how many open sessions are read at once.
const openPage = 500

// Wake has a session looked after, without waiting for it: here and now, or by the
// engine.
func (c *Control) Wake(session string, revision int64) {
	if n := (store.Nudge{Session: session, Revision: revision}); !c.begin(n) {
		c.tell(n)
	}
}

// tell nudges the engine. When it is far behind, the nudge stays in the outbox for
// the dispatcher.
func (c *Control) tell(n store.Nudge) {
	select {
	case c.wakes <- n:
	default:
	}
}

func (c *Control) nudge(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-c.wakes:
			c.wake(ctx, n)
		}
	}
}

// wake tells the engine. Of the wakes that do not reach it, one after the other,
// the log shows the first.
func (c *Control) wake(ctx context.Context, n store.Nudge) {
	if c.Refusal() != nil {
		return // it stays in the outbox for the server that runs sessions
	}
	failpoint.Hit("wake.before")
	err := c.Engine.Wake(ctx, n.Session, n.Revision)
	failpoint.Hit("wake.after")
	switch {
	case err == nil:
		c.silent.Store(false)
	case ctx.Err() != nil:
	default:
		if c.Direct { // its files lie on the disk that the store's lie on
			c.missed.Store(&n)
			c.hurt.Store(true)
		}
		level := slog.LevelDebug
		if !c.silent.Swap(true) {
			level = slog.LevelWarn
		}
		c.Log.Log(ctx, level, "the engine was not reached; the session waits in the outbox", "session", n.Session, "error", err)
	}
}

// dispatch repairs what a lost nudge or a passed timer left waiting.
func (c *Control) dispatch(ctx context.Context) {
	tick := time.NewTicker(c.DispatchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if c.Refusal() != nil {
				continue
			}
			stale, err := c.Store.Stale(ctx, c.Now().Add(-c.DispatchEvery/2), c.Now(), openPage)
			if err != nil {
				c.Log.WarnContext(ctx, "the outbox could not be read", "error", err)
				continue
			}
			for _, n := range stale {
				c.Wake(n.Session, n.Revision)
			}
		}
	}
}

// nudgeAll wakes every session with unsettled work.
func (c *Control) nudgeAll(ctx context.Context) error {
	after := ""
	for {
		open, err := c.Store.Open(ctx, after, openPage)
		if err != nil {
			return err
		}
		for _, n := range open {
			after = n.Session
			if c.begin(n) {
				continue
			}
			select {
			case c.wakes <- n:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if len(open) < openPage {
			return nil
		}
	}
}
