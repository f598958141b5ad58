package proctree

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// escapes are commands that try to outlive their shell. Each prints a line when
// all of it runs, and carries TOKEN in its command line.
var escapes = []struct{ name, line string }{
	{"in the background", `sleep 1000.TOKEN & echo ready`},
	{"nohup and disown", `nohup sleep 1000.TOKEN >/dev/null 2>&1 & disown; echo ready`},
	{"setsid", `setsid sleep 1000.TOKEN & echo ready`},
	{"deaf to SIGTERM", `(trap '' TERM HUP INT; sleep 1000.TOKEN; sleep 1000.TOKEN) & trap '' TERM; echo ready`},
	{"double fork into a session of its own", `setsid sh -c "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000.TOKEN & sleep 1000.TOKEN' >/dev/null 2>&1 & exit 0" </dev/null; echo ready`},
	{"stopped", `sh -c 'kill -STOP $$; sleep 1000.TOKEN' & echo ready`},
	{"holding the output", `setsid sh -c 'trap "" TERM; while :; do echo TOKEN; sleep 0.01; done' & echo ready`},
	{"no environment in the same session", `env -i /bin/sh -c 'sleep 1000.TOKEN; :' & echo ready`},
}

// token makes a number that no other test has in its command lines.
func token(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(strconv.FormatInt(time.Now().UnixNano(), 10), "0", "7")
}

// TestNothingOutlivesEnd is the promise: none alive five seconds after End,
// whatever the tree does.
func TestNothingOutlivesEnd(t *testing.T) {
	t.Parallel()
	for _, c := range escapes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachMode(t, func(t *testing.T, f *Forest) {
				token, out := token(t), newSink()
				tree := start(t, f, "escape", strings.ReplaceAll(c.line, "TOKEN", token)+"\nwhile :; do sleep 1000."+token+"; done", out)
				within(t, out.line, "the first line")
				if len(withToken(t, token)) == 0 {
					t.Fatal("nothing runs that could be ended")
				}
				endIn(t, tree, 50*time.Millisecond)
				if left := withToken(t, token); len(left) > 0 {
					t.Errorf("alive after End: %q", left)
				}
				if !tree.Exit().Ended {
					t.Errorf("exit %+v does not say that End came first", tree.Exit())
				}
			})
		})
	}
}

// TestNothingOutlivesTheShell: what a command leaves behind ends with it, and
// its output is not waited for.
func TestNothingOutlivesTheShell(t *testing.T) {
	t.Parallel()
	for _, c := range escapes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachMode(t, func(t *testing.T, f *Forest) {
				token, out := token(t), newSink()
				tree := start(t, f, "escape", strings.ReplaceAll(c.line, "TOKEN", token)+"\nexit 5", out)
				if got := finished(t, tree); got != (Exit{Code: 5}) {
					t.Errorf("got %+v, want code 5", got)
				}
				if left := withToken(t, token); len(left) > 0 {
					t.Errorf("alive after the shell: %q", left)
				}
			})
		})
	}
}

func TestForkBombLoses(t *testing.T) {
	t.Parallel()
	bomb := `
bomb() { while :; do (trap '' TERM; sleep 0.05; exec setsid sh -c "$B") & sleep 0.03; done; }
export B='trap "" TERM; n=0; while [ $n -lt 200 ]; do sleep 0.1 & n=$((n+1)); sleep 0.05; done # TOKEN'
echo ready; bomb`
	eachMode(t, func(t *testing.T, f *Forest) {
		token, out := token(t), newSink()
		tree := start(t, f, "bomb", strings.ReplaceAll(bomb, "TOKEN", token), out)
		within(t, out.line, "the first line")
		endIn(t, tree, 300*time.Millisecond)
		if left := withToken(t, token); len(left) > 0 {
			t.Errorf("alive: %q", left)
		}
	})
}

func TestGraceLetsLastWordsOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, want string }{
		{"of the shell", `trap 'echo last words; exit 9' TERM; echo ready; while :; do sleep 0.01; done`, "ready\nlast words\n"},
		{"of what the shell left behind", `(trap 'sleep 0.2; echo last words; exit' TERM; echo ready; while :; do sleep 0.01; done) & wait`, "ready\nlast words\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachMode(t, func(t *testing.T, f *Forest) {
				out := newSink()
				tree := start(t, f, "words", c.line, out)
				within(t, out.line, "the first line")
				endIn(t, tree, time.Hour) // nobody needs it all
				if !strings.HasSuffix(out.String(), "last words\n") {
					t.Errorf("got %q, want %q", out.String(), c.want)
				}
			})
		})
	}
}

func TestEndTellsTheShellsSignal(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		for grace, want := range map[time.Duration]Exit{
			0:         {Code: 137, Signal: "SIGKILL", Ended: true},
			time.Hour: {Code: 143, Signal: "SIGTERM", Ended: true},
		} {
			out := newSink()
			tree := start(t, f, "signal", "echo ready; while :; do :; done", out)
			within(t, out.line, "the first line")
			endIn(t, tree, grace)
			if got := tree.Exit(); got != want {
				t.Errorf("grace %v: got %+v, want %+v", grace, got, want)
			}
		}
	})
}

func TestEndMayBeCalledAgain(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		out := newSink()
		tree := start(t, f, "twice", "trap '' TERM; echo ready; while :; do sleep 1000; done", out)
		within(t, out.line, "the first line")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() { endIn(t, tree, time.Duration(i)*time.Hour) }) // the shortest grace counts
		}
		all.Wait()
		endIn(t, tree, time.Hour)
		if pids := tree.Pids(); len(pids) > 0 {
			t.Errorf("alive: %v", pids)
		}
	})
}

func TestEndLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		mine, other := newSink(), newSink()
		a := start(t, f, "a", "sleep 1000 & echo ready; wait", mine)
		b := start(t, f, "b", "setsid sh -c 'echo ready; exec sleep 1000' & wait", other)
		within(t, mine.line, "the first line")
		within(t, other.line, "the first line")
		before := b.Pids()
		endIn(t, a, 0)
		if after := b.Pids(); len(before) < 2 || len(after) != len(before) {
			t.Errorf("the other tree had %v and has %v", before, after)
		}
		if got := f.Select(func(s Spec) bool { return s.ID == "b" }); len(got) != 1 || got[0] != b {
			t.Errorf("running: %v, want b", got)
		}
		endIn(t, b, 0)
	})
}

// TestManyAtOnce: trees come and go from many goroutines, and Close takes the
// rest, also those that are being started.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		token := token(t)
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				line := "setsid sleep 1000." + token + " & sleep 1000." + token
				tree, err := f.Start(Spec{ID: strconv.Itoa(i), Line: line, Env: os.Environ()})
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					endIn(t, tree, time.Millisecond)
				}
				if i == 12 {
					if err := f.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if left := withToken(t, token); len(left) > 0 || len(f.Select(nil)) > 0 || len(recordsIn(t, f.records.dir)) > 0 {
			t.Errorf("alive: %q, running: %v, records: %v", left, f.Select(nil), recordsIn(t, f.records.dir))
		}
	})
}
