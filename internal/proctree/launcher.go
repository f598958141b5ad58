package proctree

import (
	"os/exec"
	"runtime"
	"sync"
)

// launcher starts all commands from one thread that lives as long as the
// forest: the system kills them when the thread that started them ends.
type launcher struct {
	requests chan launch
	once     sync.Once
	done     chan struct{}
}

type launch struct {
	cmd    *exec.Cmd
	answer chan error
}

func newLauncher() *launcher {
	l := &launcher{requests: make(chan launch), done: make(chan struct{})}
	go l.run()
	return l
}

// run never unlocks the thread, so that it ends with the goroutine.
func (l *launcher) run() {
	defer close(l.done)
	runtime.LockOSThread()
	for r := range l.requests {
		r.answer <- r.cmd.Start()
	}
}

// start must not be called after stop.
func (l *launcher) start(cmd *exec.Cmd) error {
	r := launch{cmd, make(chan error, 1)}
	l.requests <- r
	return <-r.answer
}

// stop may be called again.
func (l *launcher) stop() {
	l.once.Do(func() { close(l.requests) })
	<-l.done
}
