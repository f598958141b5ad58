//go:build failpoint && unix

package failpoint

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// The names of the environment.
const (
	envPlaces = "CADRE_FAILPOINTS"
	envLog    = "CADRE_FAILPOINTS_LOG"
	envOffset = "CADRE_CLOCK_OFFSET_FILE"
)

// On says whether this binary has failpoints. A place that would have to compute
// its name asks first, so that it costs nothing when there are none.
const On = true

// points is what the environment asked for, and how often each place was hit.
type points struct {
	mu      sync.Mutex
	actions map[string][]action
	hits    map[string]int
	log     *os.File // nil when nobody asked for one
}

// environment is read at the first hit.
var environment = sync.OnceValue(func() *points {
	actions, err := parse(os.Getenv(envPlaces))
	if err != nil {
		refuse(err)
	}
	p := &points{actions: actions, hits: map[string]int{}}
	if name := os.Getenv(envLog); name != "" {
		if p.log, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			refuse(fmt.Errorf("%s: %w", envLog, err))
		}
	}
	return p
})

// Hit passes a place. Safe for concurrent use.
func Hit(name string) {
	if err := pass(name); err != nil {
		refuse(fmt.Errorf("%s: the place %s cannot give an error; only places that call failpoint.Err can", envPlaces, name))
	}
}

// Err passes a place that can fail. It answers nil unless the environment asks for
// an error there.
func Err(name string) error { return pass(name) }

func pass(name string) error {
	p := environment()
	n := p.count(name)
	for _, a := range p.actions[name] {
		if a.at != 0 && a.at != n {
			continue
		}
		switch a.do {
		case doKill:
			die()
		case doStop:
			signal(syscall.SIGSTOP)
		case doDelay:
			<-time.NewTimer(a.delay).C
		case doError:
			return fmt.Errorf("failpoint %s, hit %d", name, n)
		}
	}
	return nil
}

// count numbers a hit and writes it down. The lock makes the order of the log the
// order of the numbers.
func (p *points) count(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hits[name]++
	n := p.hits[name]
	if p.log != nil {
		if _, err := fmt.Fprintf(p.log, "%s %d\n", name, n); err != nil {
			refuse(fmt.Errorf("%s: %w", envLog, err))
		}
	}
	return n
}

// die ends the process as a power failure would, and never returns.
func die() {
	signal(syscall.SIGKILL)
	select {}
}

func signal(s syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		refuse(err)
	}
}

// refuse ends the process with a sentence.
func refuse(err error) {
	fmt.Fprintln(os.Stderr, "cadre: failpoints:", err)
	os.Exit(2) //nolint:forbidigo // a fault test whose faults are not understood must not go on
}
