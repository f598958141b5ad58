// Package temporal is the durable engine: a Temporal server inside this process,
// on SQLite files of its own. Each session has one workflow, which interprets the
// closed verbs that peeks answer and holds ids and times only.
//
// It promises what package engine promises, also over a crash: workflows, timers
// and wakes that were acknowledged are in the files, except those of the last
// moments before a power cut, which the ledger tells again. Files that the program
// cannot use, because another version made them or they are damaged, are set aside
// and made anew under another ID. One process works on a folder at a time.
//
// The embedded server listens on the loopback interface, on ports that the system
// chooses, and answers only clients that show a credential made for this start.
//
// Instead of it a Temporal server elsewhere can be used (External). It need not be
// there when the engine starts, and may come and go: attempts in progress go on
// meanwhile, and each time that it is reached Handlers.Connected tells which memory
// it has. StartServer runs such a server for tests and trials.
package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/id"
)

// Options are the settings of an engine.
type Options struct {
	Dir    string        // the folder of the embedded server's files, made when missing. Required without External
	Log    *slog.Logger  // where its lines go. Default slog.Default()
	Timing engine.Timing // the waits of a session's loop. Default engine.Timing{}.WithDefaults()

	External *External // the server to use instead of an embedded one. Default nil
	Ledger   string    // the id of the ledger, which keeps its tasks apart on an external server. Required with External
}

// New makes an engine that is not started.
func New(o Options) engine.Engine {
	if o.External != nil {
		return newExternal(o)
	}
	return newDriver(o)
}

func newDriver(o Options) *driver {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &driver{dir: o.Dir, log: o.Log, timing: o.Timing.WithDefaults(), stopping: ctx, stop: cancel}
}

type driver struct {
	dir    string
	log    *slog.Logger
	timing engine.Timing

	stopping context.Context // ends when Stop begins
	stop     context.CancelCauseFunc
	killed   atomic.Bool // by a test, as a crash would
	live     atomic.Pointer[connection]
	refused  atomic.Pointer[error] // why the newest wake was not taken; nil when it was

	mu     sync.Mutex // held by Start, Stop and the opening of the folder
	used   bool       // Start or Stop was called
	ended  bool       // Stop was called
	id     string     // of the folder when it was last open
	folder *folder
	host   *host
	server *embedded
}

// ID is the id in the folder, which is opened for it: ID may be called before
// Start. It is "" when the folder cannot be used; Start says why. It changes in
// Start when the files prove damaged.
func (d *driver) ID() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		d.log.Error("engine folder cannot be used", "folder", d.dir, "error", err)
		return ""
	}
	return d.id
}

// open opens the folder once. Its lock is held until Stop.
func (d *driver) open() error {
	if d.folder != nil || d.ended {
		return nil
	}
	f, err := openFolder(d.dir, namespace, d.log)
	if err != nil {
		return err
	}
	d.folder, d.id = f, f.mark.ID
	return nil
}

// Start starts the server and the worker. Sessions that the files hold go on at
// once: their handlers may be called before Start returns. An engine starts once.
func (d *driver) Start(ctx context.Context, h engine.Handlers) error {
	if err := d.begin(ctx, h); err != nil {
		return err
	}
	h.Connected(ctx, d.ID())
	return nil
}

func (d *driver) begin(ctx context.Context, h engine.Handlers) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used {
		return errors.New("engine: it was started or stopped before")
	}
	d.used = true
	if err := d.open(); err != nil {
		return err
	}
	orphans, err := d.folder.orphans()
	if err != nil {
		d.log.WarnContext(ctx, "engine files do not tell their orphans", "error", err) // the server will say whether it can use them
	}
	decided, err := d.folder.halfways()
	if err != nil {
		d.log.WarnContext(ctx, "engine files do not tell their decisions in progress", "error", err)
	}
	if err := d.startServer(ctx); err != nil {
		return err
	}
	d.host = &host{handlers: h, timing: d.timing, log: d.log, stopping: d.stopping, mute: d.killed.Load}
	c, err := connect(target{
		address: d.server.address(), namespace: namespace, queue: taskQueue, identity: id.New("boot"), headers: d.server.key,
	}, d.server.lines)
	if err == nil {
		err = c.serving(ctx)
	}
	if err == nil {
		err = c.startWorker(d.host)
	}
	if err != nil {
		return errors.Join(err, d.server.stop(context.WithoutCancel(ctx)))
	}
	d.live.Store(c)
	go d.sweep(c, orphans, decided)
	return nil
}

// portTries is how often other ports are chosen when another program was faster to
// bind one of them.
const portTries = 5

// startServer sets the files aside and tries once more when the server does not
// start over them.
func (d *driver) startServer(ctx context.Context) (err error) {
	for range portTries {
		d.server, err = startEmbedded(ctx, d.folder, own())
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	if err := d.folder.renew(fmt.Errorf("the server does not start over it: %w", err)); err != nil {
		return err
	}
	d.id = d.folder.mark.ID
	d.server, err = startEmbedded(ctx, d.folder, own())
	return err
}

// Wake answers after the wake is in the files.
func (d *driver) Wake(ctx context.Context, session string, revision int64) error {
	c := d.live.Load()
	if c == nil {
		return engine.ErrUnavailable
	}
	err := c.wake(ctx, session, revision)
	switch {
	case err == nil:
		d.refused.Store(nil)
		return nil
	case ctx.Err() == nil:
		d.refused.Store(&err)
	}
	return engine.ErrUnavailable.Because(err)
}

// Abandon also cancels an attempt that runs in this very process.
func (d *driver) Abandon(ctx context.Context, refs []engine.ActivityRef) error {
	c := d.live.Load()
	if c == nil {
		return engine.ErrUnavailable
	}
	for _, ref := range refs {
		d.host.attempts.lose(ref)
	}
	if err := c.abandon(ctx, refs); err != nil {
		return engine.ErrUnavailable.Because(err)
	}
	return nil
}

// Health asks the server, which knows little of its files, and remembers how the
// newest wake fared.
func (d *driver) Health(ctx context.Context) error {
	c := d.live.Load()
	if c == nil {
		return engine.ErrUnavailable
	}
	if err := c.health(ctx); err != nil {
		return engine.ErrUnavailable.Because(err)
	}
	if why := d.refused.Load(); why != nil {
		return engine.ErrUnavailable.Saying("the newest wake was not taken; inputs are accepted and wait; when it stays so, restart the server: " +
			"files of the engine that are damaged are set aside and made anew").Because(*why)
	}
	return nil
}
