package scenario

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are what scenarios can do beside testscript's own commands.
//
//	exits CODE PROGRAM ARG...     run a program that must end with this exit code; stdout and stderr can be looked at
//	setenv NAME FILE REGEXP       set a variable to the first group of a match in a file, in stdout or in stderr
//	norm FILE OUT                 write a file, stdout or stderr to OUT with ids, times and ports replaced by fixed words
//	await SESSION TYPE [COUNT]    wait until the session's log has so many events of the type
//	start JOB PROGRAM ARG...      run a program in the background
//	sees JOB REGEXP               wait until a job's output matches
//	signal JOB NAME               send INT, TERM or KILL to a job
//	join JOB CODE                 wait for a job's end with this exit code; JOB.out and JOB.err hold what it printed
//	kill9                         kill the server of $CADRE_DATA as a power failure would
//	alive DIR                     some process has its working directory there
//	gone DIR                      no process has, at the latest after the five seconds that are promised
//	listener NAME                 occupy a port of this machine and set a variable to its address
//	host NAME DIR                 start a model's host that answers with the bytes of files (see host_test.go)
//	readonly DIR                  make a folder that cannot be written to (see the condition)
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":    exits,
	"setenv":   setenv,
	"norm":     norm,
	"await":    await,
	"start":    start,
	"sees":     sees,
	"signal":   sendSignal,
	"join":     join,
	"kill9":    kill9,
	"alive":    alive,
	"gone":     gone,
	"listener": listener,
	"host":     host,
	"readonly": readonly,
}

type stateKey struct{}

// state is what a scenario has running.
type state struct {
	work string
	jobs map[string]*job
	undo []func()
}

func stateOf(ts *testscript.TestScript) *state { return ts.Value(stateKey{}).(*state) }

// want checks a command's form.
func want(ts *testscript.TestScript, neg bool, args []string, least int, form string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", form)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "exits CODE PROGRAM ARG...")
	expected, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != expected {
		ts.Fatalf("exit %d, want %d", code, expected)
	}
	noTrace(ts, ts.ReadFile("stdout")+ts.ReadFile("stderr"))
}

// noTrace fails a scenario in which a program shows its inside.
func noTrace(ts *testscript.TestScript, said string) {
	for _, word := range []string{"goroutine ", "panic:", "runtime error", ".go:"} {
		if strings.Contains(said, word) {
			ts.Fatalf("a stack trace was printed:\n%s", said)
		}
	}
}

func setenv(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "setenv NAME FILE REGEXP")
	m := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) < 2 {
		ts.Fatalf("%s has no match with a group for %q:\n%s", args[1], args[2], ts.ReadFile(args[1]))
	}
	ts.Setenv(args[0], m[1])
}

// awaitTime bounds every wait: no machine needs so long.
const awaitTime = 60 * time.Second

func await(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "await SESSION TYPE [COUNT]")
	count := 1
	if len(args) > 2 {
		var err error
		count, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	cmd := command(ts, "cadre", "events", args[0], "-f", "--json", "--types", args[1])
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	late := time.AfterFunc(awaitTime, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	seen := 0
	for seen < count && lines.Scan() {
		seen++
	}
	late.Stop()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if seen < count {
		ts.Fatalf("%d of %d events of type %s came", seen, count, args[1])
	}
}

// command is a program in the scenario's folder and environment.
func command(ts *testscript.TestScript, program string, args ...string) *exec.Cmd {
	path := program
	if program == "cadre" {
		path = filepath.Join(stateOf(ts).work, ".bin", "cadre")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "CADRE_DATA", "CADRE_LISTEN", "CADRE_SERVER", "CADRE_TOKEN"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

func kill9(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0, "kill9")
	data := ts.Getenv("CADRE_DATA")
	text, err := os.ReadFile(filepath.Join(data, "lock"))
	ts.Check(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	for deadline := time.Now().Add(awaitTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if free(filepath.Join(data, "lock")) {
			return
		}
	}
	ts.Fatalf("process %d holds %s after it was killed", pid, data)
}

// free says whether nobody holds a lock's file.
func free(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}

func listener(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "listener NAME")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	stateOf(ts).undo = append(stateOf(ts).undo, func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

func readonly(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "readonly DIR")
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	undo, err := makeReadOnly(dir)
	ts.Check(err)
	stateOf(ts).undo = append(stateOf(ts).undo, undo)
}

// canBeReadOnly says whether this machine lets a test make a read-only folder.
func canBeReadOnly() bool {
	dir, err := os.MkdirTemp("", "cadre-readonly-*")
	if err != nil {
		return false
	}
	defer func() { _ = os.Remove(dir) }()
	undo, err := makeReadOnly(dir)
	if err != nil {
		return false
	}
	undo()
	return true
}

// checkMode makes a folder read-only by its mode. The superuser is above modes.
func checkMode(dir string) (undo func(), err error) {
	if os.Geteuid() == 0 {
		return nil, fmt.Errorf("the superuser can write to any folder")
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		return nil, err
	}
	return func() { _ = os.Chmod(dir, 0o700) }, nil
}
