// Package control moves sessions: it answers the engine's peeks from the
// ledger, nudges the engine after commits, repairs nudges that were lost, and
// takes over what a dead predecessor left running.
//
// Delivery: every accepted input is nudged at least once while the server runs,
// and again after each start; the ledger makes a second nudge harmless.
package control

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/store"
)

// Runner executes attempts on this node.
type Runner interface {
	Run(ctx context.Context, a engine.Attempt, gone string) error
	Alive(attempt string) bool
	// Sessions are those that attempts work on here, and Look ends a session's attempt
	// whose end was asked for on another server.
	Sessions() []string
	Look(ctx context.Context, session string) error
}

// Options of a Control.
type Options struct {
	Store  store.Store
	Engine engine.Engine
	Runner Runner
	// End ends the processes of an execution and returns when they are proven gone;
	// nil when none are ever started.
	End       func(ctx context.Context, session, execution string) error
	BootEpoch string
	// Node identifies this server, and Shared is the store's part for several servers;
	// both are empty when the store has one server alone.
	Node   string
	Shared store.Shared
	// Direct has attempts begin right after a wake, without a way through the engine.
	// Only for an engine that works for this process alone.
	Direct bool
	// DispatchEvery is how often lost nudges are looked for. Default 10 s.
	DispatchEvery time.Duration
	// MendEvery is how often is looked whether a store that failed is well again. Default 3 s.
	MendEvery time.Duration
	Now       func() time.Time
	Log       *slog.Logger
}

// Control is the orchestration of one server. Make it with New.
type Control struct {
	Options
	wakes   chan store.Nudge
	reached chan struct{}       // holds at most one: the engine was reached
	memory  atomic.Value        // string: the id of the engine that was reached last
	silent  atomic.Bool         // the last wake did not reach the engine
	left    []store.LiveAttempt // what a dead predecessor owned
	running sync.WaitGroup
	direct  direct
	others  others
	stalls  stalls
	missed  atomic.Pointer[store.Nudge] // the newest wake that the engine of this process did not take
	hurt    atomic.Bool                 // the store failed, and what it stopped was not woken since
	work    context.Context             // ends with the cause engine.ErrStopping
	stop    context.CancelCauseFunc
}

// New makes a Control; Start begins its work.
func New(o Options) *Control {
	if o.DispatchEvery == 0 {
		o.DispatchEvery = 10 * time.Second
	}
	if o.MendEvery == 0 {
		o.MendEvery = 3 * time.Second
	}
	c := &Control{Options: o, wakes: make(chan store.Nudge, 4096), reached: make(chan struct{}, 1), direct: direct{busy: map[string]bool{}}}
	c.others.hints = make(chan string, 1024)
	if o.Shared != nil {
		c.others.refusal.Store(errUnbound)
	}
	return c
}

var _ engine.Handlers = (*Control)(nil)

// Inherit takes the turns that a dead predecessor owned from it: nobody owns them
// until an attempt of this process claims them. Call it before the engine starts, once
// and with proof that the predecessor is gone with all that it started.
func (c *Control) Inherit(ctx context.Context) error {
	left, err := c.Store.Disown(ctx, c.BootEpoch, c.Node, c.Now())
	if err != nil {
		return err
	}
	c.left = left
	if len(left) > 0 {
		c.Log.InfoContext(ctx, "turns of the process before are taken over", "attempts", len(left))
	}
	return nil
}

// Start begins to dispatch and, as often as the engine is reached, takes over what
// a dead predecessor left there and nudges everything that is open. The caller must
// hold the data folder's lock: that nobody else runs attempts is what it proves.
func (c *Control) Start(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	c.work, c.stop = work, stop
	for range nudgers {
		c.running.Go(func() { c.nudge(work) })
	}
	c.running.Go(func() { c.dispatch(work) })
	c.running.Go(func() { c.mend(work) })
	c.running.Go(func() { c.follow(work) })
	c.share(work)
	return nil
}

// Stop ends the dispatching, and the attempts that began without the engine. The
// engine is stopped by its owner.
func (c *Control) Stop() {
	if c.stop != nil {
		c.stop(engine.ErrStopping)
		c.running.Wait()
	}
}

// Peek decides what a session does next.
func (c *Control) Peek(ctx context.Context, session string) (engine.Decision, error) {
	if c.Refusal() != nil {
		return engine.Decision{Verb: engine.Idle}, nil
	}
	work, err := c.Store.Peek(ctx, session, c.Now())
	if err != nil {
		c.note(err)
		return engine.Decision{}, err
	}
	d := c.decide(work)
	if d.Verb == engine.Run {
		d.Attempt = id.New("att")
	}
	return d, nil
}

// aliveAgain is when a session is looked at again whose attempt still works.
const aliveAgain = time.Second

// decide says what follows from what the ledger says, for this process now.
func (c *Control) decide(w store.Work) engine.Decision {
	elsewhere := c.Shared != nil && w.Attempt.Node != c.Node
	mine := w.Attempt.BootEpoch == c.BootEpoch && c.Runner.Alive(w.Attempt.Attempt)
	return decide(w, w.Attempt.Attempt != "" && (elsewhere || mine), c.Now())
}

// decide is the pure part of a peek: from what the ledger says to a verb. An execution
// is owned when nobody can prove that its attempt works no more: one of another server
// is, until that server itself says so.
func decide(w store.Work, owned bool, now time.Time) engine.Decision {
	d := engine.Decision{Verb: engine.Idle, Execution: w.Execution, Revision: w.Revision}
	switch {
	case w.State == store.WorkNone && w.Due.IsZero():
	case w.State == store.WorkNone:
		d.Verb, d.Until = engine.WaitUntil, w.Due
	case owned:
		d.Verb, d.Until = engine.WaitUntil, now.Add(aliveAgain)
	case w.State == store.WorkInterrupt:
		d.Verb = engine.Interrupt
	default:
		d.Verb = engine.Run
	}
	return d
}

// Run executes an attempt that a peek decided on.
func (c *Control) Run(ctx context.Context, a engine.Attempt) error {
	work, err := c.Store.Peek(ctx, a.Session, c.Now())
	if err != nil {
		return err
	}
	if d := c.decide(work); d.Verb != engine.Run || d.Execution != a.Execution {
		return nil // the world moved on since the peek; the loop looks again
	}
	return c.attempt(ctx, a, work.Attempt.Attempt)
}

// Interrupt settles a cancelled execution that nobody works on.
func (c *Control) Interrupt(ctx context.Context, session, execution string) error {
	if c.End != nil {
		if err := c.End(ctx, session, execution); err != nil {
			return err
		}
	}
	err := c.Store.SettleInterrupted(ctx, session, execution, c.Now())
	if errors.Is(err, store.ErrNoWork) {
		return nil
	}
	return err
}
