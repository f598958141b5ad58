package proctree

import (
	"bufio"
	"context"
	"os/exec"
	"strconv"
	"strings"
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
	members, err := t.search.find(t.forest.sys)
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

// run goes with the tree from its start to its end.
func (t *Tree) run() {
	go t.pipes.output.run()
	go t.await()
	if t.pipes.status != nil {
		go t.listen()
	}
	t.untilShellEnds()
	t.lastWords()
	t.endAll()
	t.finish()
}

// await takes the status of the first process from the system.
func (t *Tree) await() {
	defer close(t.waited)
	_ = t.cmd.Wait() // the state tells it all
}

// listen reads what the first process of a namespace tells about the shell.
func (t *Tree) listen() {
	defer close(t.reported)
	said := false
	for lines := bufio.NewScanner(t.pipes.status); lines.Scan(); {
		code, found := strings.CutPrefix(lines.Text(), "status ")
		if n, err := strconv.Atoi(code); found && err == nil {
			exit := exitIn(n, said, shellPath() != "/bin/sh")
			t.shell = &exit
			return
		}
		said = true
	}
}

// untilShellEnds returns when the shell has ended or may wait no longer.
func (t *Tree) untilShellEnds() {
	select {
	case <-t.reported:
	case <-t.waited:
	case <-t.kill:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut = true
}

// lastWords lets those that the shell left behind use the time of grace. Without
// an End they have none.
func (t *Tree) lastWords() {
	t.mu.Lock()
	ended, pause := t.ended, firstPause
	t.mu.Unlock()
	for ended {
		others := 0
		for _, p := range t.living() {
			if !t.innermost(p) {
				others++
			}
		}
		if others == 0 {
			return
		}
		select {
		case <-t.kill:
			return
		default:
		}
		_ = wait(context.Background(), t.kill, pause) // this context has no end
		pause = min(2*pause, longPause)
	}
}

// endAll kills the tree. A namespace is empty when its first process could be
// waited for: the system sees to that. A group is looked for until it is empty.
func (t *Tree) endAll() {
	if t.record.Space != "" {
		_ = t.cmd.Process.Kill() // fails when it ended already
		<-t.waited
		return
	}
	find := func() ([]process, error) { return t.search.find(t.forest.sys) }
	for {
		err := end(context.Background(), t.forest.sys, find)
		if err == nil {
			break
		}
		t.forest.log.Warn("the process table cannot be read", "error", err)
		_ = wait(context.Background(), nil, longPause) // this context has no end
	}
	<-t.waited
	t.forest.sys.reap()
}

// finish hands over the rest and lets go.
func (t *Tree) finish() {
	t.pipes.output.finish()
	if t.pipes.status != nil {
		_ = t.pipes.status.SetReadDeadline(time.Now())
		<-t.reported
	}
	t.pipes.closeOurs()
	t.exit = exitOf(t.cmd.ProcessState)
	if t.shell != nil {
		t.exit = *t.shell
	}
	t.mu.Lock()
	t.exit.Ended = t.ended
	for _, timer := range t.timers {
		timer.Stop()
	}
	t.mu.Unlock()
	t.forest.records.remove(t.record)
	t.forest.forget(t.spec.ID)
	close(t.done)
}
