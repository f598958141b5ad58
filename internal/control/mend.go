package control

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// mend looks after work that stopped because the store failed, for instance on a full
// disk: nobody else wakes it, since what wakes it was consumed by the attempt that failed.
// As soon as the store is well again, everything open is woken.
func (c *Control) mend(ctx context.Context) {
	tick := time.NewTicker(c.MendEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n := c.missed.Swap(nil); n != nil {
			c.tell(*n) // so that the engine is known to be well again when it is
		}
		if !c.hurt.Load() || c.Refusal() != nil || c.Store.Health(ctx) != nil {
			continue
		}
		c.hurt.Store(false) // what fails from here on says so
		if err := c.nudgeAll(ctx); err != nil {
			c.hurt.Store(true)
			continue
		}
		c.Log.InfoContext(ctx, "the store is well again; what stopped meanwhile goes on")
	}
}

// note remembers that the store failed, when that is what an error tells.
func (c *Control) note(err error) {
	if store.Failed(err) {
		c.hurt.Store(true)
	}
}
