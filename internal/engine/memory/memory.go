// Package memory is an engine that lives in the memory of its process: one
// goroutine for each session whose loop is open. It is for tests and for suites
// that must be fast. It promises the semantics of package engine and forgets
// everything when the process ends, so it has a new ID each time.
package memory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/id"
)

// Options are the settings of an engine. The zero value is useful.
type Options struct {
	Timing engine.Timing // the waits of a session's loop. Default engine.Timing{}.WithDefaults()
	Log    *slog.Logger  // where failures of handlers go. Default slog.Default()
}

// New makes an engine that is not started.
func New(o Options) engine.Engine {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &memory{
		id:     id.New("eng"),
		timing: o.Timing.WithDefaults(),
		log:    o.Log,
		ctx:    ctx,
		cancel: cancel,
		loops:  map[string]*loop{},
	}
}

type memory struct {
	id     string
	timing engine.Timing
	log    *slog.Logger

	ctx    context.Context // ends with cause ErrStopping
	cancel context.CancelCauseFunc
	open   sync.WaitGroup // one for each loop

	mu       sync.Mutex
	handlers engine.Handlers // nil until started
	stopped  bool
	loops    map[string]*loop // the open loops by session
}

// ID is another one for each engine.
func (m *memory) ID() string { return m.id }

// Start begins to work. An engine starts once.
func (m *memory) Start(ctx context.Context, h engine.Handlers) error {
	if !m.begin(h) {
		return errors.New("memory engine: it was started before")
	}
	h.Connected(ctx, m.id)
	return nil
}

func (m *memory) begin(h engine.Handlers) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.handlers != nil || m.stopped {
		return false
	}
	m.handlers = h
	return true
}

// Wake nudges the session's loop, or opens one, which begins with a peek.
func (m *memory) Wake(_ context.Context, session string, revision int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.handlers == nil || m.stopped {
		return engine.ErrUnavailable
	}
	l := m.loops[session]
	if l == nil {
		l = newLoop(m, session)
		m.loops[session] = l
		m.open.Go(l.run)
	}
	l.seen = max(l.seen, revision)
	select {
	case l.nudge <- struct{}{}:
	default: // a nudge waits already
	}
	return nil
}

// Abandon has nothing to do: no attempt outlives this engine.
func (m *memory) Abandon(context.Context, []engine.ActivityRef) error { return nil }

// Health is nil between Start and Stop.
func (m *memory) Health(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.handlers == nil || m.stopped {
		return engine.ErrUnavailable
	}
	return nil
}

// Stop ends the loops. It may be called more than once.
func (m *memory) Stop(ctx context.Context) error {
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	m.cancel(engine.ErrStopping)

	done := make(chan struct{})
	go func() {
		m.open.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("memory engine: handlers still run: %w", context.Cause(ctx))
	}
}
