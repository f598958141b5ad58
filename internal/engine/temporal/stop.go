package temporal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

// closeTimeout is how long Stop waits for the server when handlers took all the
// time that its context gave.
const closeTimeout = 2 * time.Second

// Stop ends attempts, worker and server and lets another process have the folder.
// It may be called more than once. The server's library keeps some goroutines and
// the handle of its file until the process ends.
func (d *driver) Stop(ctx context.Context) error { return d.end(ctx, engine.ErrStopping) }

func (d *driver) end(ctx context.Context, cause error) error {
	c := d.live.Swap(nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used, d.ended = true, true
	var err error
	if c != nil {
		err = d.disconnect(ctx, c, cause)
	}
	if d.server != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		err = errors.Join(err, d.server.stop(closing))
		cancel()
		d.server = nil
	}
	if d.folder != nil {
		err = errors.Join(err, d.folder.close())
		d.folder = nil
	}
	return err
}

// disconnect cancels the handlers while the worker stops taking tasks, so that
// what they answer still reaches the server.
func (d *driver) disconnect(ctx context.Context, c *connection, cause error) error {
	defer c.client.Close()
	var workers sync.WaitGroup
	workers.Go(func() { c.stopWorker(ctx) })
	d.host.end(cause, d.stop)
	err := d.host.wait(ctx)
	workers.Wait()
	return err
}
