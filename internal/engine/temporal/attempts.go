package temporal

import (
	"context"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

// attempts keeps one attempt per session: the loop of a session cannot know that
// an attempt it was told to be lost still runs in this process.
type attempts struct {
	mu        sync.Mutex
	bySession map[string]*running // by workflow id
}

type running struct {
	ref    engine.ActivityRef
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// enter registers an attempt. It cancels an earlier one of the session, waits for
// it, and calls beat meanwhile. leave must be called when the attempt ended.
func (a *attempts) enter(ctx context.Context, ref engine.ActivityRef, cancel context.CancelCauseFunc, beat func(), every time.Duration) (leave func(), err error) {
	me := &running{ref: ref, cancel: cancel, done: make(chan struct{})}
	for {
		earlier := a.take(me)
		if earlier == nil {
			return func() { a.leave(me) }, nil
		}
		earlier.cancel(engine.ErrLost)
		if err := await(ctx, earlier.done, beat, every); err != nil {
			return nil, err
		}
	}
}

// take registers me unless the session has another, which it answers.
func (a *attempts) take(me *running) *running {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.bySession[me.ref.Workflow]; r != nil {
		return r
	}
	if a.bySession == nil {
		a.bySession = map[string]*running{}
	}
	a.bySession[me.ref.Workflow] = me
	return nil
}

func (a *attempts) leave(me *running) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.bySession, me.ref.Workflow)
	close(me.done)
}

// lose cancels the attempt when it runs here.
func (a *attempts) lose(ref engine.ActivityRef) {
	a.mu.Lock()
	r := a.bySession[ref.Workflow]
	a.mu.Unlock()
	if r != nil && r.ref == ref {
		r.cancel(engine.ErrLost)
	}
}

func await(ctx context.Context, done <-chan struct{}, beat func(), every time.Duration) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-t.C:
			beat()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
