package workspacetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// RunCommands checks a driver that can run commands.
func RunCommands(t *testing.T, open Open) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, fixture)
	}{
		{"Exit", testExit},
		{"Output", testOutput},
		{"LongOutput", testLongOutput},
		{"Unread", testUnread},
		{"Environment", testEnvironment},
		{"Trees", testTrees},
		{"Find", testFind},
		{"TooMany", testTooMany},
		{"OutlivesTheWorkspace", testOutlives},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newFixture(t, open))
		})
	}
}

// patience bounds every wait for a process.
const patience = 30 * time.Second

// start runs a line as a process of a session.
func (f fixture) start(t *testing.T, id, line string) workspace.Process {
	t.Helper()
	p, err := f.ws.Start(t.Context(), workspace.Command{ID: id, Session: f.dir, Execution: "aex_1", Line: line, Background: true})
	if err != nil {
		t.Fatalf("Start(%s): %v", line, err)
	}
	t.Cleanup(func() { endNow(t, p) })
	return p
}

func endNow(t *testing.T, p workspace.Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.End(ctx, 0); err != nil {
		t.Errorf("%s does not end: %v", p.Command().Line, err)
	}
}

// ended waits for a process.
func ended(t *testing.T, p workspace.Process) workspace.Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("%s does not end", p.Command().Line)
	}
	return p.Exit()
}

// prints waits until a process has printed a text.
func prints(t *testing.T, p workspace.Process, text string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		out := string(p.Output(0).Text)
		if strings.Contains(out, text) {
			return out
		}
		if time.Now().After(end) {
			t.Fatalf("%s printed %q, want %q", p.Command().Line, out, text)
		}
		<-time.NewTimer(5 * time.Millisecond).C
	}
}

func testExit(t *testing.T, f fixture) {
	for line, want := range map[string]workspace.Exit{
		"true":                     {},
		"exit 3":                   {Code: 3},
		"-x; exit 4":               {Code: 4},
		"kill -KILL $$":            {Code: 137, Signal: "SIGKILL"},
		"exit 137":                 {Code: 137},
		"(exit 5)":                 {Code: 5},
		"sleep 60 & exit 6":        {Code: 6},
		"cat; echo 'no input' >&2": {},
	} {
		if got := ended(t, f.start(t, line, line)); got != want {
			t.Errorf("%s ended with %+v, want %+v", line, got, want)
		}
	}
	p := f.start(t, "ended", "sleep 60")
	endNow(t, p)
	if exit := ended(t, p); !exit.Ended {
		t.Errorf("a process that was ended says %+v", exit)
	}
	if p.Command().Line != "sleep 60" || time.Since(p.Started()) > patience {
		t.Errorf("the process tells of itself %+v, %s", p.Command(), p.Started())
	}
}

func testOutput(t *testing.T, f fixture) {
	p := f.start(t, "p", "echo one; echo two >&2; pwd; printf three")
	ended(t, p)
	at := f.ws.Name()
	if real, err := filepath.EvalSymlinks(at); err == nil { // it has that name only inside, where it is far away
		at = real
	}
	want := "one\ntwo\n" + at + "\nthree"
	out := p.Output(0)
	if string(out.Text) != want || out.Next != int64(len(want)) || out.Lost != 0 {
		t.Errorf("it printed %q (%+v), want %q", out.Text, out, want)
	}
	if rest := p.Output(4); string(rest.Text) != want[4:] {
		t.Errorf("from byte 4 on it printed %q", rest.Text)
	}
	if none := p.Output(out.Next); len(none.Text) != 0 || none.Next != out.Next {
		t.Errorf("after its end it printed %q", none.Text)
	}
}

// testLongOutput: of ten megabytes the beginning and the end are kept, and what is
// missing between is told.
func testLongOutput(t *testing.T, f fixture) {
	p := f.start(t, "p", "echo begin; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end")
	ended(t, p)
	out := p.Output(0)
	const total = 10000000 + 6 + 1 + 4
	if out.Next != total || int64(len(out.Text))+out.Lost != total || out.Lost == 0 {
		t.Errorf("of %d bytes %d are kept and %d told missing, up to %d", total, len(out.Text), out.Lost, out.Next)
	}
	if !strings.HasPrefix(string(out.Text), "begin\nxxx") || !strings.HasSuffix(string(out.Text), "xxx\nend\n") || out.Gap <= 0 || out.Gap >= len(out.Text) {
		t.Errorf("what is kept is %q…%q with the gap at %d", out.Text[:20], out.Text[len(out.Text)-20:], out.Gap)
	}
	if tail := p.Output(total - 4); string(tail.Text) != "end\n" || tail.Lost != 0 {
		t.Errorf("its last bytes are %+v", tail)
	}
}

func testUnread(t *testing.T, f fixture) {
	p := f.start(t, "p", "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two")
	prints(t, p, "one\n")
	if got := string(p.Unread("a").Text); got != "one\n" {
		t.Errorf("the first reader got %q", got)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended(t, p)
	if got := string(p.Unread("a").Text); got != "one\ntwo\n" {
		t.Errorf("the same reader got %q the second time", got)
	}
	if got := string(p.Unread("b").Text); got != "" {
		t.Errorf("the reader after it got %q", got)
	}
}

// testEnvironment: commands get what programs need and none of the server's keys.
func testEnvironment(t *testing.T, f fixture) {
	p := f.start(t, "p", "env")
	ended(t, p)
	seen := map[string]bool{}
	for line := range strings.Lines(string(p.Output(0).Text)) {
		name, _, _ := strings.Cut(line, "=")
		seen[name] = true
	}
	if !seen["PATH"] || !seen["TERM"] {
		t.Errorf("the environment is %v", seen)
	}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if seen[name] && (strings.HasPrefix(name, "CADRE_") || strings.Contains(name, "KEY") || strings.Contains(name, "TOKEN")) {
			t.Errorf("a command sees %s=%s", name, value)
		}
	}
}

// testTrees: what setsid, a trap of SIGTERM and a double fork hide ends with the
// command, also when the command itself is long gone or still runs.
func testTrees(t *testing.T, f fixture) {
	line := "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ >>pids; sleep 1000; sleep 1000' &) ; nohup sleep 1000 >/dev/null 2>&1 & echo $$ >>pids; "
	p := f.start(t, "p", line+"while [ $(wc -l <pids) -lt 2 ]; do sleep 0.02; done; echo ready; sleep 1000; sleep 1000")
	prints(t, p, "ready\n")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // the promise's bound
	defer cancel()
	if err := p.End(ctx, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("a tree that is gone is not done")
	}
	for _, pid := range inFolder(t, f.dir) {
		t.Errorf("process %d is alive", pid)
	}
}

// inFolder are the processes whose working directory is dir, where the system tells.
func inFolder(t *testing.T, dir string) (pids []int) {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range all {
		if at, err := os.Readlink(link); err == nil && at == real {
			var pid int
			if _, err := fmt.Sscanf(link, "/proc/%d/", &pid); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func testFind(t *testing.T, f fixture) {
	if _, err := f.ws.Process(f.dir, "p"); !errors.Is(err, workspace.ErrNoProcess) {
		t.Errorf("a process that never was gives %v", err)
	}
	p := f.start(t, "p", "echo here")
	ended(t, p)
	found, err := f.ws.Process(f.dir, "p")
	if err != nil || string(found.Output(0).Text) != "here\n" {
		t.Errorf("the ended process is found as %v, %v", found, err)
	}
	if _, err := f.ws.Process("another session", "p"); !errors.Is(err, workspace.ErrNoProcess) {
		t.Errorf("another session finds it: %v", err)
	}
	fore, err := f.ws.Start(t.Context(), workspace.Command{ID: "f", Session: f.dir, Line: "true"})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, fore)
	for end := time.Now().Add(patience); ; <-time.NewTimer(5 * time.Millisecond).C {
		if _, err := f.ws.Process(f.dir, "f"); errors.Is(err, workspace.ErrNoProcess) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a command of the foreground is kept after its end")
		}
	}
}

func testTooMany(t *testing.T, f fixture) {
	for i := range 100 {
		p, err := f.ws.Start(t.Context(), workspace.Command{ID: fmt.Sprint(i), Session: f.dir, Line: "sleep 1000"})
		if errors.Is(err, workspace.ErrTooMany) {
			if i < 4 {
				t.Errorf("%d processes are too many", i)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { endNow(t, p) })
	}
	t.Error("a hundred processes are not too many")
}

func testOutlives(t *testing.T, f fixture) {
	p := f.start(t, "p", "while [ ! -e go ]; do sleep 0.02; done; echo over")
	if err := f.ws.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ended(t, p)
	if got := string(p.Output(0).Text); got != "over\n" {
		t.Errorf("it printed %q", got)
	}
}
