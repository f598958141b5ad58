package temporal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

// closeTimeout is how long Stop waits for the server beyond its context, when
// handlers took all the time.
const closeTimeout = 2 * time.Second

// Stop ends attempts, worker and server and lets another process have the folder.
// It may be called more than once. The server's library keeps some goroutines and
// the handle of its file until the process ends. A server that does not end in
// time keeps the folder's lock.
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
		if failed := d.stopServer(ctx); failed != nil {
			return errors.Join(err, failed)
		}
		d.server = nil
	}
	if d.folder != nil {
		err = errors.Join(err, d.folder.close())
		d.folder = nil
	}
	return err
}

func (d *driver) stopServer(ctx context.Context) error {
	ctx, cancel := beyond(ctx, closeTimeout)
	defer cancel()
	return d.server.stop(ctx)
}

// beyond is ctx with its end put off by some time.
func beyond(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var timer atomic.Pointer[time.Timer]
	stop := context.AfterFunc(ctx, func() { timer.Store(time.AfterFunc(by, cancel)) })
	return later, func() {
		stop()
		if t := timer.Load(); t != nil {
			t.Stop()
		}
		cancel()
	}
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
