package docker

import (
	"context"
	"sync"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// locks let one call at a time change a sandbox, in this process. Among servers the
// engine's names do.
type locks struct {
	mu   sync.Mutex
	held map[sandbox.Key]*lock
}

type lock struct {
	turn  chan struct{}
	users int
}

// take waits for the turn; release gives it on.
func (l *locks) take(ctx context.Context, k sandbox.Key) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	one := l.held[k]
	if one == nil {
		one = &lock{turn: make(chan struct{}, 1)}
		l.held[k] = one
	}
	one.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.held, k)
		}
	}
	select {
	case one.turn <- struct{}{}:
		return func() { <-one.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
