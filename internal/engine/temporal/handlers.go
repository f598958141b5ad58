package temporal

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/cadre-dev/cadre/internal/engine"
)

// host calls the handlers for the workflows of one engine. Errors of handlers go
// to the log; histories get a constant text.
type host struct {
	handlers engine.Handlers
	timing   engine.Timing
	log      *slog.Logger
	attempts attempts

	stopping context.Context // ends with the cause that handlers see
	mute     func() bool     // a killed engine reports nothing

	// elsewhere: the server is in another process and may be gone for a while. That it
	// gave an attempt up does then not say that the attempt is lost, and the attempt
	// goes on: peeks see that it lives.
	elsewhere bool

	mu     sync.Mutex
	inside sync.WaitGroup // calls of handlers
}

// enter counts a call of a handler, or refuses it when the engine stops.
func (h *host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping.Err() != nil {
		return false
	}
	h.inside.Add(1)
	return true
}

// end refuses further calls and cancels those in progress.
func (h *host) end(cause error, cancel context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	cancel(cause)
}

// wait returns when no call is in progress or ctx ends.
func (h *host) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		h.inside.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("engine: handlers still run: %w", context.Cause(ctx))
	}
}

func (h *host) session(ctx workflow.Context, state sessionState) error {
	l := sessionLoop{ctx: ctx, timing: h.timing, state: state, wakes: workflow.GetSignalChannel(ctx, wakeSignal)}
	return l.run()
}

func (h *host) peek(ctx context.Context, session string) (decision, error) {
	var d engine.Decision
	err := h.call(ctx, session, "peek", func(ctx context.Context) (err error) {
		d, err = h.handlers.Peek(ctx, session)
		return err
	})
	return decision(d), err
}

func (h *host) interrupt(ctx context.Context, session, execution string) error {
	return h.call(ctx, session, "interrupt", func(ctx context.Context) error {
		return h.handlers.Interrupt(ctx, session, execution)
	})
}

// call calls a short handler, whose context ends with the engine.
func (h *host) call(ctx context.Context, session, what string, handler func(context.Context) error) error {
	if !h.enter() {
		return failure(failureHandler)
	}
	defer h.inside.Done()
	ctx, cancel := h.life(ctx, false)
	defer cancel(nil)
	if err := guard(func() error { return handler(ctx) }); err != nil {
		h.report(ctx, what, session, err)
		return failure(failureHandler)
	}
	return nil
}

// attempt runs one attempt. It waits for an earlier attempt of the session that
// the engine gave up but that has not returned yet.
func (h *host) attempt(ctx context.Context, in attemptInput) error {
	if !h.enter() {
		return failure(failureUnsettled)
	}
	defer h.inside.Done()
	ctx, cancel := h.life(ctx, h.elsewhere)
	defer cancel(nil)
	beat := heartbeat(ctx)
	info := activity.GetInfo(ctx)
	ref := engine.ActivityRef{Workflow: info.WorkflowExecution.ID, Run: info.WorkflowExecution.RunID, Activity: info.ActivityID}
	leave, err := h.attempts.enter(ctx, ref, cancel, beat, h.timing.Heartbeat)
	if err == nil {
		defer leave()
		a := engine.Attempt{Session: in.Session, Execution: in.Execution, ID: in.Attempt, Activity: ref, Heartbeat: beat}
		err = guard(func() error { return h.handlers.Run(ctx, a) })
	}
	if h.mute() {
		return activity.ErrResultPending
	}
	if err != nil {
		h.report(ctx, "run", in.Session, err)
		return failure(failureUnsettled)
	}
	return nil
}

// heartbeat answers what reports once, without waiting: a server that is gone would
// hold up whoever calls it.
func heartbeat(ctx context.Context) (beat func()) {
	var busy atomic.Bool
	return func() {
		if ctx.Err() != nil || busy.Swap(true) {
			return
		}
		go func() {
			defer busy.Store(false)
			activity.RecordHeartbeat(ctx)
		}()
	}
}

// life makes the context of a handler. It ends with the engine's cause when the
// engine stops, and with ErrLost when the server gave the call up, unless it goes on.
func (h *host) life(ctx context.Context, goesOn bool) (context.Context, context.CancelCauseFunc) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(h.stopping, func() { cancel(context.Cause(h.stopping)) })
	lost := func() bool { return true }
	if !goesOn {
		lost = context.AfterFunc(ctx, func() { cancel(engine.ErrLost.Because(context.Cause(ctx))) })
	}
	return own, func(cause error) {
		stop()
		lost()
		cancel(cause)
	}
}

func (h *host) report(ctx context.Context, handler, session string, err error) {
	level := slog.LevelWarn
	if ctx.Err() != nil {
		level = slog.LevelDebug // the engine stops or gave the call up: expected
	}
	h.log.Log(ctx, level, "engine handler failed", "handler", handler, "session", session, "error", err)
}

// guard calls a handler and makes an error of its panic.
func guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

func failure(kind string) error {
	return temporal.NewNonRetryableApplicationError("see the log of the server", kind, nil)
}
