package proctree

import (
	"bufio"
	"context"
	"strconv"
	"strings"
	"time"
)

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
	find := func() ([]process, error) { return t.search.find(t.forest.watcher) }
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
