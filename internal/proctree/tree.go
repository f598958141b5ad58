package proctree

import (
	"context"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Tree is one command with everything that it started. It is safe for
// concurrent use.
type Tree struct {
	forest  *Forest
	spec    Spec
	cmd     *exec.Cmd
	pipes   pipes
	started time.Time
	record  record
	search  search

	waited   chan struct{} // the first process was waited for
	reported chan struct{} // mode Namespace: the shell's end was told, or will never be
	kill     chan struct{} // the time of grace is over
	done     chan struct{}
	shell    *Exit // what was told; read it after reported
	exit     Exit  // read it after done

	mu     sync.Mutex
	shut   bool // the shell has ended
	ended  bool // End came before
	killed bool // kill is closed
	timers []*time.Timer
}

// Spec is what the tree was started with. The caller must not change its parts.
func (t *Tree) Spec() Spec { return t.spec }

// Started is when the tree began.
func (t *Tree) Started() time.Time { return t.started }

// Done is closed when the shell has ended, the whole tree is gone and all output
// was handed over.
func (t *Tree) Done() <-chan struct{} { return t.done }

// Exit tells how the shell ended. It is the zero value before Done.
func (t *Tree) Exit() Exit {
	if !t.over() {
		return Exit{}
	}
	return t.exit
}

// Pids are the processes of the tree that are alive now, its first one included.
func (t *Tree) Pids() []int {
	var pids []int
	for _, p := range t.living() {
		pids = append(pids, p.pid)
	}
	return pids
}

// End sends SIGTERM to every process of the tree and, when grace is over,
// SIGKILL; with no grace SIGKILL at once. It returns nil when all are proven gone
// and ErrAlive, which names them, when ctx ends before; the ending goes on then.
// It may be called again, also to shorten the grace.
func (t *Tree) End(ctx context.Context, grace time.Duration) error {
	t.order(grace)
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
	}
	if left := t.living(); !t.over() {
		return alive(left)
	}
	return nil
}

// order begins the ending and does not wait for it.
func (t *Tree) order(grace time.Duration) {
	t.mu.Lock()
	first := !t.ended
	if !t.shut {
		t.ended = true
	}
	if t.over() || t.killed {
		t.mu.Unlock()
		return
	}
	if grace <= 0 {
		t.killNow()
		t.mu.Unlock()
		return
	}
	t.timers = append(t.timers, time.AfterFunc(grace, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.killNow()
	}))
	t.mu.Unlock()
	if first {
		t.terminate()
	}
}

// killNow is called with the lock held.
func (t *Tree) killNow() {
	if !t.killed {
		t.killed = true
		close(t.kill)
	}
}

// terminate asks every member to end, also those that were born while it asked.
func (t *Tree) terminate() {
	asked := map[identity]bool{}
	for range 2 {
		for _, p := range t.living() {
			if !asked[p.identity()] && !t.innermost(p) {
				asked[p.identity()] = true
				t.forest.sys.signal(p.identity(), syscall.SIGTERM)
			}
		}
	}
}

// innermost tells whether p is the first process of a namespace, which is ours
// and holds the others.
func (t *Tree) innermost(p process) bool {
	return t.record.Space != "" && p.identity() == t.record.Root
}

// living are the members that are alive now.
func (t *Tree) living() []process {
	if t.over() {
		return nil
	}
	members, err := t.search.find(t.forest.watcher)
	if err != nil {
		t.forest.log.Warn("the process table cannot be read", "error", err)
	}
	return members
}

func (t *Tree) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}
