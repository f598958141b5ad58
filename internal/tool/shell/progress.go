package shell

import (
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

const (
	// showEvery is how often people are shown what a command printed.
	showEvery = 500 * time.Millisecond
	// showBytes bounds what is shown at once, and showTotal of one call.
	showBytes = 4 << 10
	showTotal = 64 << 10
)

// progress shows people what a running command prints.
type progress struct {
	env     tool.Env
	process workspace.Process
	next    int64
	total   int
}

// watch shows until stop is called or the process ends.
func (s *progress) watch() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(showEvery)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-s.process.Done():
				return
			case <-tick.C:
				s.show()
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// show tells what is new, the newest of it when it is much.
func (s *progress) show() {
	out := s.process.Output(s.next)
	s.next = out.Next
	if len(out.Text) == 0 || s.total >= showTotal {
		return
	}
	text := out.Text[max(0, len(out.Text)-showBytes):]
	s.total += len(text)
	s.env.Progress(strings.ToValidUTF8(string(text), "\ufffd"))
}
