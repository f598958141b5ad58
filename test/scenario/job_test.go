package scenario

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// job is a program in the background.
type job struct {
	cmd    *exec.Cmd
	exited chan struct{}
	out    *watched
	err    *watched
}

// watched is output that can be waited for. Safe for concurrent use.
type watched struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // closed and replaced at each change
}

func newWatched() *watched { return &watched{changed: make(chan struct{})} }

// Write adds to it.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	close(w.changed)
	w.changed = make(chan struct{})
	return len(p), nil
}

func (w *watched) now() (text string, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String(), w.changed
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "start JOB PROGRAM ARG...")
	j := &job{cmd: command(ts, args[1], args[2:]...), exited: make(chan struct{}), out: newWatched(), err: newWatched()}
	j.cmd.Stdout, j.cmd.Stderr = j.out, j.err
	ts.Check(j.cmd.Start())
	go func() {
		_ = j.cmd.Wait()
		close(j.exited)
	}()
	stateOf(ts).jobs[args[0]] = j
}

// stop ends a job that a scenario left running.
func (j *job) stop() {
	_ = j.cmd.Process.Kill()
	<-j.exited
}

func jobOf(ts *testscript.TestScript, name string) *job {
	j := stateOf(ts).jobs[name]
	if j == nil {
		ts.Fatalf("no job is called %s", name)
	}
	return j
}

func sees(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "sees JOB REGEXP")
	j, pattern := jobOf(ts, args[0]), regexp.MustCompile("(?m)"+args[1])
	late := time.After(awaitTime)
	for {
		out, more := j.out.now()
		stderr, also := j.err.now()
		if pattern.MatchString(out) || pattern.MatchString(stderr) {
			return
		}
		select {
		case <-more:
		case <-also:
		case <-j.exited:
			if out2, _ := j.out.now(); pattern.MatchString(out2) {
				return
			}
			ts.Fatalf("the job ended and has not printed %q:\n%s%s", args[1], out, stderr)
		case <-late:
			ts.Fatalf("the job has not printed %q:\n%s%s", args[1], out, stderr)
		}
	}
}

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "signal JOB INT|TERM|KILL")
	sig, ok := signals[args[1]]
	if !ok {
		ts.Fatalf("no signal is called %s", args[1])
	}
	ts.Check(jobOf(ts, args[0]).cmd.Process.Signal(sig))
}

func join(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "join JOB CODE")
	expected, err := strconv.Atoi(args[1])
	ts.Check(err)
	j := jobOf(ts, args[0])
	select {
	case <-j.exited:
	case <-time.After(awaitTime):
		out, _ := j.out.now()
		stderr, _ := j.err.now()
		ts.Fatalf("the job does not end:\n%s%s", out, stderr)
	}
	out, _ := j.out.now()
	stderr, _ := j.err.now()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(out), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(stderr), 0o600))
	ts.Logf("[job %s]\n%s%s", args[0], out, stderr)
	noTrace(ts, out+stderr)
	if code := j.cmd.ProcessState.ExitCode(); code != expected {
		ts.Fatalf("exit %d, want %d: %s", code, expected, fmt.Sprint(j.cmd.ProcessState))
	}
}
