package proctree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// afterCrash are escapes of a tree whose server is killed.
const afterCrash = `
sleep 1000.TOKEN &
nohup sleep 1000.TOKEN >/dev/null 2>&1 &
setsid sh -c "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000.TOKEN & sleep 1000.TOKEN' >/dev/null 2>&1 &" </dev/null
echo ready
while :; do sleep 1000.TOKEN; done`

// TestKilledServerLeavesNothing: in a namespace the tree goes with the server
// that was killed with SIGKILL, and nobody has to open the folder again.
func TestKilledServerLeavesNothing(t *testing.T) {
	t.Parallel()
	token := token(t)
	server, pids := served(t, t.TempDir(), Namespace, strings.ReplaceAll(afterCrash, "TOKEN", token))
	if len(pids) < 3 || len(withToken(t, token)) < 3 {
		t.Fatalf("the tree has only %v", pids)
	}
	crash(t, server)
	deadline, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for len(withToken(t, token)) > 0 {
		if wait(deadline, nil, firstPause) != nil {
			t.Fatalf("alive a second after the server: %q", withToken(t, token))
		}
	}
}

// TestOpenEndsWhatAKilledServerLeft, in both modes, and removes its records.
func TestOpenEndsWhatAKilledServerLeft(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Namespace, Group} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			dir, token := t.TempDir(), token(t)
			server, _ := served(t, dir, mode, strings.ReplaceAll(afterCrash, "TOKEN", token))
			if got := recordsIn(t, dir); len(got) != 1 {
				t.Fatalf("records: %v, want one", got)
			}
			crash(t, server)
			openForest(t, dir, mode)
			if left := withToken(t, token); len(left) > 0 {
				t.Errorf("alive after Open: %q", left)
			}
			if got := recordsIn(t, dir); len(got) != 0 {
				t.Errorf("records: %v, want none", got)
			}
		})
	}
}

// TestOpenFindsTheUnrecorded: the marker suffices, in the other mode too.
func TestOpenFindsTheUnrecorded(t *testing.T) {
	t.Parallel()
	dir, token := t.TempDir(), token(t)
	server, _ := served(t, dir, Group, strings.ReplaceAll(afterCrash, "TOKEN", token))
	crash(t, server)
	for _, path := range recordsIn(t, dir) {
		if err := os.Truncate(path, 20); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	f, err := Open(t.Context(), Options{Dir: dir, Boot: "boot-2", Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(t.Context())
	if left := withToken(t, token); len(left) > 0 {
		t.Errorf("alive after Open: %q", left)
	}
	aside, _ := filepath.Glob(filepath.Join(dir, "*"+asideSuffix))
	if len(aside) != 1 || len(recordsIn(t, dir)) != 0 || !strings.Contains(log.String(), "set aside") {
		t.Errorf("set aside: %v, records: %v, log: %s", aside, recordsIn(t, dir), log.String())
	}
}

// TestFoldersAreStrangers: a forest ends nothing of another folder.
func TestFoldersAreStrangers(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		out := newSink()
		tree := start(t, f, "same-id", "setsid sh -c 'echo ready; exec sleep 1000' & wait", out)
		within(t, out.line, "the first line")
		before := tree.Pids()
		g := openForest(t, t.TempDir(), f.Mode())
		finished(t, start(t, g, "same-id", "true", nil))
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if after := tree.Pids(); len(before) < 2 || len(after) != len(before) {
			t.Errorf("the tree had %v and has %v", before, after)
		}
	})
}

// TestStrangersOfTheSamePidLive: a record whose pid, session and namespace are
// another's by now hits nobody.
func TestStrangersOfTheSamePidLive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*record)
		dies   bool
	}{
		{"the very process", func(*record) {}, true},
		{"another start time", func(r *record) { r.Root.Start-- }, false},
		{"another boot of the machine", func(r *record) { r.Machine = "earlier" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stranger := exec.Command("sleep", "1000")
			stranger.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := stranger.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { defer close(ended); _ = stranger.Wait() }()
			defer func() { _ = stranger.Process.Kill(); <-ended }()
			dir, sys := t.TempDir(), newSystem()
			r, err := openRecords(dir, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			who, _ := sys.identify(stranger.Process.Pid)
			rec := record{ID: "x", Marker: r.marker("old", "x"), Root: who, Machine: sys.boot(), Space: sys.namespace(who.Pid)}
			rec.Space = "" // the stranger shares the test's own
			c.change(&rec)
			if err := r.write(rec); err != nil {
				t.Fatal(err)
			}
			openForest(t, dir, Group)
			if got := !lives(who.Pid); got != c.dies {
				t.Errorf("ended: %v, want %v", got, c.dies)
			}
			if got := recordsIn(t, dir); len(got) != 0 {
				t.Errorf("records: %v, want none", got)
			}
		})
	}
}

// TestRecordNamesItsTree: what the record says suffices to find the tree.
func TestRecordNamesItsTree(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		out := newSink()
		tree, err := f.Start(Spec{ID: "a/b", Owner: map[string]string{"session": "s1"}, Line: "echo ready; sleep 1000", Env: []string{"SECRET=xyzzy"}, Output: out})
		if err != nil {
			t.Fatal(err)
		}
		within(t, out.line, "the first line")
		paths := recordsIn(t, f.records.dir)
		if len(paths) != 1 {
			t.Fatalf("records: %v, want one", paths)
		}
		data, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		var rec record
		if err := json.Unmarshal(data, &rec); err != nil {
			t.Fatal(err)
		}
		members, err := rec.search().find(&watcher{sys: newSystem()})
		if err != nil || len(members) != len(tree.Pids()) || rec.Owner["session"] != "s1" || rec.Mode != f.Mode() {
			t.Errorf("record %s finds %v (%v), want %v", data, members, err, tree.Pids())
		}
		if strings.Contains(string(data), "xyzzy") || strings.Contains(string(data), "sleep") {
			t.Errorf("the record holds content: %s", data)
		}
		endIn(t, tree, 0)
	})
}

// TestWhatDoesNotEndIsNamed, with a process that no signal reaches, as one that
// waits for a broken disk.
func TestWhatDoesNotEndIsNamed(t *testing.T) {
	t.Parallel()
	sys := &stubborn{system: newSystem()}
	dir := t.TempDir()
	f, err := open(t.Context(), Options{Dir: dir, Boot: "b", Mode: Group, Log: slog.New(slog.DiscardHandler)}, sys)
	if err != nil {
		t.Fatal(err)
	}
	sys.hold(f.records.marker("b", "stuck"))
	tree := start(t, f, "stuck", "true", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const name = "7000001 (stuck-disk)"
	for what, err := range map[string]error{"End": tree.End(ctx, 0), "Close": f.Close(ctx)} {
		if !errors.Is(err, ErrAlive) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want one that names %s", what, err, name)
		}
	}
	if _, err := open(ctx, Options{Dir: dir, Boot: "c", Mode: Group}, sys); !errors.Is(err, ErrAlive) || !strings.Contains(err.Error(), name) {
		t.Errorf("Open: got %v, want one that names %s", err, name)
	}
	sys.hold("")
	if err := f.Close(t.Context()); err != nil {
		t.Errorf("Close after the disk is well: %v", err)
	}
}
