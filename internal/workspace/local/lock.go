package local

import (
	"context"
	"os"
	"sync"
)

// locks puts the changes of one file in an order, also when its folder has
// several names. The zero value is ready.
type locks struct {
	mu   sync.Mutex
	held []*lock
}

type lock struct {
	folder os.FileInfo
	base   string
	users  int           // holder and waiters
	turn   chan struct{} // holds one element while somebody has it
}

// hold waits for its turn on one file and answers how to let go.
func (l *locks) hold(ctx context.Context, folder os.FileInfo, base string) (release func(), err error) {
	k := l.join(folder, base)
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn; l.leave(k) }, nil
	case <-ctx.Done():
		l.leave(k)
		return nil, context.Cause(ctx)
	}
}

func (l *locks) join(folder os.FileInfo, base string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.held {
		if k.base == base && os.SameFile(k.folder, folder) {
			k.users++
			return k
		}
	}
	k := &lock{folder: folder, base: base, users: 1, turn: make(chan struct{}, 1)}
	l.held = append(l.held, k)
	return k
}

func (l *locks) leave(k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users > 0 {
		return
	}
	for i, other := range l.held {
		if other == k {
			l.held = append(l.held[:i], l.held[i+1:]...)
			return
		}
	}
}
