package runner_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/memory"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
	"github.com/cadre-dev/cadre/internal/telemetry"
)

// deaf is an engine whose files lie on a full disk too: it takes no wake.
type deaf struct{ engine.Engine }

func (deaf) Wake(context.Context, string, int64) error { return errors.New("the disk is full") }

// A turn whose writes fail, since the disk is full, goes on by itself when there is room,
// also when the engine took no wake meanwhile, and however many attempts that cost: claims
// are small and find room that what follows does not.
func TestATurnGoesOnAfterAFullDisk(t *testing.T) {
	t.Parallel()
	const refusals = 8 // more than attempts that a turn may lose without progress
	var refused, looked atomic.Int64
	full := func(ctx context.Context, c store.Call, next func(context.Context) error) error {
		switch {
		case c.Method == "health":
			looked.Add(1)
		case c.Method == "dispatch" && refused.Load() < refusals:
			refused.Add(1)
			return fault.New(fault.Unavailable, "STORE_WRITE_FAILED", "its disk is full")
		case c.Method == "release" && refused.Load() < refusals:
			return fault.New(fault.Unavailable, "STORE_WRITE_FAILED", "its disk is full")
		}
		return next(ctx)
	}
	p := startOn(t, sqlitetest.Fresh(t), answer, true, deaf{memory.New(memory.Options{Log: telemetry.Discard()})}, func(s store.Store) store.Store { return store.Around(s, full) })
	defer p.stop()
	p.declare()
	session, _ := p.send("")
	p.control.Wake(session, 1)
	p.await(session, "turn.completed", 1)
	if refused.Load() != refusals || looked.Load() < refusals {
		t.Errorf("%d writes were refused, and %d times health was asked before it went on", refused.Load(), looked.Load())
	}
}
