package proctree

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestManyStartsLeaveNothing: five hundred commands in a row leave no process,
// no descriptor, no record and no thread. It counts, so it runs alone: in a
// process of its own.
func TestManyStartsLeaveNothing(t *testing.T) {
	if os.Getenv(soakVariable) == "" {
		t.Parallel()
		for _, mode := range []Mode{Namespace, Group} {
			needs(t, mode)
			cmd := exec.Command(os.Args[0], "-test.run=^TestManyStartsLeaveNothing$", "-test.v")
			cmd.Env = append(os.Environ(), soakVariable+"="+string(mode))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", mode, err, out)
			}
		}
		return
	}
	dir := t.TempDir()
	f := openForest(t, dir, Mode(os.Getenv(soakVariable)))
	soak(t, f, 20) // what is made once is made now
	before := holdings(t)
	soak(t, f, 500)
	after := holdings(t)
	if after.fds > before.fds || after.threads > before.threads+4 || len(after.children) > 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if got := recordsIn(t, dir); len(got) > 0 {
		t.Errorf("records: %v", got)
	}
}

const soakVariable = "PROCTREE_TEST_SOAK"

func soak(t *testing.T, f *Forest, n int) {
	t.Helper()
	for i := range n {
		line := "true"
		if i%10 == 0 {
			line = "(setsid sh -c 'true & true' &) ; true" // orphans, which somebody must take leave of
		}
		if got := finished(t, start(t, f, fmt.Sprint(i), line, nil)); got != (Exit{}) {
			t.Fatalf("start %d: %+v", i, got)
		}
	}
}

type holding struct {
	fds, threads int
	children     []string // zombies too
}

func holdings(t *testing.T) holding {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	tasks, _ := os.ReadDir("/proc/self/task")
	h := holding{fds: len(fds), threads: len(tasks)}
	all, _ := newSystem().table()
	for _, p := range all {
		if p.ppid == os.Getpid() {
			h.children = append(h.children, fmt.Sprint(p.pid, " ", p.name, " zombie ", p.zombie))
		}
	}
	slices.Sort(h.children)
	return h
}

// TestReapLeavesOthersTheirChildren: a child that ended and that its owner has
// not waited for yet is not taken from it.
func TestReapLeavesOthersTheirChildren(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		child := exec.Command("sh", "-c", "exit 6")
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		for lives(child.Process.Pid) {
			finished(t, start(t, f, "other", "true", nil))
		}
		finished(t, start(t, f, "other", "true", nil))
		if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != 6 {
			t.Errorf("the owner got %v, want code 6", err)
		}
	})
}

// TestUserNamespace: where plain namespaces are not allowed, one of a user's own
// does it.
func TestUserNamespace(t *testing.T) {
	t.Parallel()
	needs(t, Namespace)
	if err := try(t.Context(), true); err != nil {
		t.Skipf("no user namespaces: %v", err)
	}
	f := openForest(t, t.TempDir(), Namespace)
	f.found.user = true
	token, out := token(t), newSink()
	tree := start(t, f, "user", strings.ReplaceAll(afterCrash, "TOKEN", token), out)
	within(t, out.line, "the first line")
	endIn(t, tree, 0)
	if left := withToken(t, token); len(left) > 0 {
		t.Errorf("alive: %q", left)
	}
	if got := finished(t, start(t, f, "code", "kill -KILL $$", nil)); got.Signal != "SIGKILL" {
		t.Errorf("got %+v", got)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		if (f.Reason() == "") != (f.Mode() == Namespace) {
			t.Errorf("mode %s, reason %q", f.Mode(), f.Reason())
		}
	})
	if mode, reason := Probe(); (reason == "") != (mode == Namespace) {
		t.Errorf("probe: %s, %q", mode, reason)
	}
}
