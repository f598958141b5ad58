package temporal

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/id"
)

// farewell is how long Stop waits for a server's answers.
const farewell = 2 * time.Second

// external is an engine whose server is elsewhere, and may be gone.
type external struct {
	to     External
	target target
	log    *slog.Logger
	host   *host

	stopping context.Context // ends when Stop begins
	stop     context.CancelCauseFunc
	killed   atomic.Bool
	kick     chan struct{} // holds at most one: look now
	kept     chan struct{} // closed when the keeper has ended

	mu      sync.Mutex
	started bool
	link    *connection // the newest; nil before the first
	id      string      // of the memory that was reached last
	trouble error       // why it cannot be used now; nil when it can
	since   time.Time   // of the trouble
	retired sync.WaitGroup

	takeover takeover
}

func newExternal(o Options) *external {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	e := &external{
		to: *o.External, log: o.Log, stopping: ctx, stop: cancel, trouble: engine.ErrUnavailable,
		kick: make(chan struct{}, 1), kept: make(chan struct{}),
	}
	e.target = target{
		address: e.to.Address, namespace: e.to.Namespace, queue: taskQueue + "-" + o.Ledger, identity: id.New("boot"), options: dialing(e.to.TLS),
	}
	if e.to.key != "" {
		e.target.headers = e.to.key
	}
	e.host = &host{timing: o.Timing.WithDefaults(), log: o.Log, stopping: ctx, mute: e.killed.Load, elsewhere: true}
	return e
}

// ID is made of the ids of the cluster and the namespace; "" until they were read.
func (e *external) ID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id
}

// Start returns at once: the server is reached, now or later, behind it.
func (e *external) Start(_ context.Context, h engine.Handlers) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started || e.stopping.Err() != nil {
		return errors.New("engine: it was started or stopped before")
	}
	e.started, e.host.handlers, e.since = true, h, time.Now()
	go e.keep()
	return nil
}

// now is the connection when it can be used.
func (e *external) now() (*connection, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.started || e.stopping.Err() != nil:
		return nil, engine.ErrUnavailable
	case e.trouble != nil:
		return nil, e.trouble
	}
	return e.link, nil
}

// doubt has the keeper look at once after a call failed.
func (e *external) doubt(err error) error {
	select {
	case e.kick <- struct{}{}:
	default:
	}
	return engine.ErrUnavailable.Because(err)
}

// Wake answers after the server has the wake.
func (e *external) Wake(ctx context.Context, session string, revision int64) error {
	c, err := e.now()
	if err != nil {
		return err
	}
	if e.takeover.due(session) {
		c.free(ctx, session)
	}
	if err := c.wake(ctx, session, revision); err != nil {
		return e.doubt(err)
	}
	return nil
}

// Abandon also cancels an attempt that runs in this very process.
func (e *external) Abandon(ctx context.Context, refs []engine.ActivityRef) error {
	c, err := e.now()
	if err != nil {
		return err
	}
	for _, ref := range refs {
		e.host.attempts.lose(ref)
	}
	c.unstick(ctx, refs)
	if err := c.abandon(ctx, refs); err != nil {
		return e.doubt(err)
	}
	return nil
}

// Health is what the keeper saw last, at most some seconds ago.
func (e *external) Health(context.Context) error {
	_, err := e.now()
	return err
}

// Stop ends attempts and worker. It may be called more than once.
func (e *external) Stop(ctx context.Context) error { return e.end(ctx, engine.ErrStopping) }

func (e *external) end(ctx context.Context, cause error) error {
	e.mu.Lock()
	started := e.started
	e.mu.Unlock()
	e.host.end(cause, e.stop)
	if !started {
		return nil
	}
	<-e.kept
	e.mu.Lock()
	c, gone := e.link, e.trouble != nil
	e.link = nil
	e.mu.Unlock()
	if c != nil {
		if gone {
			c.client.Close() // there is nobody to say goodbye to
		}
		e.retire(c)
	}
	err := e.host.wait(ctx)
	e.part(ctx, c)
	return err
}

// part waits for the workers to end, for some time.
func (e *external) part(ctx context.Context, c *connection) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.retired.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(farewell):
		if c != nil {
			c.client.Close() // fails the calls that it waits for
		}
	}
}
