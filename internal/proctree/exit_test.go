package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestExitIsTheShells(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, line string
		want       Exit
	}{
		{"success", "true", Exit{}},
		{"failure", "exit 3", Exit{Code: 3}},
		{"of the last command", "false; true; (exit 7)", Exit{Code: 7}},
		{"not found", "no-such-command-here", Exit{Code: 127}},
		{"high code", "exit 200", Exit{Code: 200}},
		{"the code of a signal", "exit 137", Exit{Code: 137}},
		{"code 255", "exit 255", Exit{Code: 255}},
		{"a killed child is no killed shell", "sh -c 'kill -9 $$'; true", Exit{}},
		{"SIGKILL", "kill -KILL $$", Exit{Code: 137, Signal: "SIGKILL"}},
		{"SIGTERM", "kill -TERM $$", Exit{Code: 143, Signal: "SIGTERM"}},
		{"SIGINT", "kill -INT $$", Exit{Code: 130, Signal: "SIGINT"}},
		{"SIGHUP", "kill -HUP $$", Exit{Code: 129, Signal: "SIGHUP"}},
		{"SIGABRT", "kill -ABRT $$", Exit{Code: 134, Signal: "SIGABRT"}},
		{"SIGPIPE", "kill -PIPE $$", Exit{Code: 141, Signal: "SIGPIPE"}},
		{"a line that looks like an option", "-x", Exit{Code: 127}},
		{"an empty line", "", Exit{}},
		{"a line with quotes", `test "a'b" = 'a'"'"'b'`, Exit{}},
		{"several lines", "x=1\ntest $x = 1\n", Exit{}},
		{"standard input is empty", "! read line", Exit{}},
	}
	eachMode(t, func(t *testing.T, f *Forest) {
		for _, c := range cases {
			if c.line == "exit 137" && f.Mode() == Namespace && shellPath() == "/bin/sh" {
				continue // said in the comment of Exit.Signal
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if got := finished(t, start(t, f, c.name, c.line, nil)); got != c.want {
					t.Errorf("%q: got %+v, want %+v", c.line, got, c.want)
				}
			})
		}
	})
}

func TestCommandSeesItsSpec(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		dir := t.TempDir()
		out := newSink()
		tree, err := f.Start(Spec{
			ID: "spec", Dir: dir, Shell: "/bin/sh", Output: out,
			Env:  []string{"PATH=" + os.Getenv("PATH"), "A=1 2", "BASH_ENV=/nowhere", markerName + "=forged"},
			Line: `echo "$0|$A|$BASH_ENV|$` + markerName + `|$(pwd)"; for fd in 3 4 5; do (eval ": <&$fd") 2>/dev/null && echo "has $fd"; (eval ": >&$fd") 2>/dev/null && echo "has $fd"; done; test $$ != 1 && echo child`,
		})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, tree)
		lines := strings.Split(out.String(), "\n")
		if want := "/bin/sh|1 2|/nowhere|" + f.records.id + "/boot-1/spec|" + dir; lines[0] != want {
			t.Errorf("got %q, want %q", lines[0], want)
		}
		if rest := strings.Join(lines[1:], " "); rest != "child " {
			t.Errorf("got %q, want a command that is not the first process and has none of our descriptors", rest)
		}
	})
}

func TestMissingShellIsCode127(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		out := newSink()
		tree, err := f.Start(Spec{ID: "x", Line: "true", Shell: "/no/such/shell", Output: out})
		if err != nil {
			t.Fatal(err)
		}
		if got := finished(t, tree); got.Code != 127 || !strings.Contains(out.String(), "/no/such/shell") {
			t.Errorf("got %+v and %q, want code 127 and the shell's name", got, out.String())
		}
	})
}

// TestMountsStayInTheTree: the tree's own /proc is not seen outside.
func TestMountsStayInTheTree(t *testing.T) {
	t.Parallel()
	needs(t, Namespace)
	f := openForest(t, t.TempDir(), Namespace)
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Skip(err)
	}
	out := newSink()
	tree := start(t, f, "mount", "ls /proc | grep -c '^[0-9]'; sleep 1000", out)
	within(t, out.line, "the first line")
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("mounts before:\n%s\nand after (%v):\n%s", before, err, after)
	}
	if os.Geteuid() == 0 && len(strings.TrimSpace(out.String())) > 1 {
		t.Errorf("the tree sees %s processes, want its own only", out.String())
	}
	endIn(t, tree, 0)
}

func TestOutputIsWholeAndInOrder(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		var out bytes.Buffer
		line := `i=0; while [ $i -lt 100 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done; head -c 10000000 /dev/zero | tr '\0' x; echo; echo end >&2`
		finished(t, start(t, f, "big", line, &out))
		var want strings.Builder
		for i := range 100 {
			fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
		}
		want.WriteString(strings.Repeat("x", 10_000_000) + "\nend\n")
		if out.String() != want.String() {
			t.Errorf("got %d bytes, want %d, or in another order", out.Len(), want.Len())
		}
	})
}

func TestBrokenReaderHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		tree := start(t, f, "broken", "head -c 1000000 /dev/zero; exit 4", brokenWriter{})
		if got := finished(t, tree); got.Code != 4 {
			t.Errorf("got %+v, want code 4", got)
		}
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestStartErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, f *Forest) {
		tree := start(t, f, "one", "sleep 1000", nil)
		for _, c := range []struct {
			name string
			spec Spec
			want error
		}{
			{"the id of a running tree", Spec{ID: "one", Line: "true"}, ErrDuplicate},
			{"no such folder", Spec{ID: "two", Line: "true", Dir: "/no/such/folder"}, ErrStart},
			{"a zero byte", Spec{ID: "three", Line: "a\x00b"}, ErrStart},
			{"too long", Spec{ID: "four", Line: strings.Repeat("x", 4<<20)}, ErrStart},
		} {
			if _, err := f.Start(c.spec); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", c.name, err, c.want)
			}
		}
		if got := f.Select(nil); len(got) != 1 || got[0] != tree {
			t.Errorf("running: %v, want the one", got)
		}
		if err := f.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if _, err := f.Start(Spec{ID: "five", Line: "true"}); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: got %v, want %v", err, ErrClosed)
		}
		if !tree.Exit().Ended {
			t.Error("Close did not end the tree")
		}
	})
}
