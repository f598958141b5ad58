package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/shell"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

// bench is a workspace in which commands run, and what people were shown.
type bench struct {
	t   *testing.T
	dir string
	env tool.Env

	mu    sync.Mutex
	shown strings.Builder
}

func newBench(t *testing.T) *bench {
	t.Helper()
	forest, err := proctree.Open(t.Context(), proctree.Options{Dir: t.TempDir(), Boot: "boot_test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: t.TempDir()}
	w, err := local.NewHost(forest).Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.Close()
		if err := forest.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	b.env = tool.Env{Session: "ses_1", Execution: "aex_1", Workspace: w, Progress: func(text string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.shown.WriteString(text)
	}}
	return b
}

func (b *bench) seen() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shown.String()
}

func arguments(t *testing.T, args map[string]any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (b *bench) run(id string, args map[string]any) tool.Result {
	b.t.Helper()
	r, err := shell.New().Run(b.t.Context(), b.env, tool.Call{ID: id, Args: arguments(b.t, args)})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func TestACommandAnswersItsOutputAndItsExitCode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for line, want := range map[string]tool.Result{
		"echo hello; echo there >&2": {Text: "hello\nthere\n[exit code 0]", Summary: "exit 0"},
		"echo no; exit 7":            {Text: "no\n[exit code 7]", Summary: "exit 7", IsError: true},
		"true":                       {Text: "[exit code 0]", Summary: "exit 0"},
		"kill -KILL $$":              {Text: "[ended by the signal SIGKILL]", Summary: "SIGKILL", IsError: true},
		"printf 'a\\377b'":           {Text: "a\ufffdb\n[exit code 0]", Summary: "exit 0"},
		"no-such-program-here 2>&1 | grep -o 'not found'": {Text: "not found\n[exit code 0]", Summary: "exit 0"},
	} {
		if got := b.run(line, map[string]any{"command": line}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s answers %+v, want %+v", line, got, want)
		}
	}
}

func TestArgumentsThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, args := range map[string]map[string]any{
		"nothing":              {},
		"blank":                {"command": "  "},
		"two wishes":           {"command": "true", "read": "p1"},
		"a time for a read":    {"read": "p1", "timeout_seconds": 3},
		"a time in background": {"command": "true", "background": true, "timeout_seconds": 3},
		"too long":             {"command": "true", "timeout_seconds": 4000},
		"negative":             {"command": "true", "timeout_seconds": -1},
		"background of a read": {"read": "p1", "background": true},
		"a wait for a command": {"command": "true", "wait_seconds": 1},
		"a zero byte":          {"command": "true\x00"},
		"a wrong name":         {"cmd": "true"},
	} {
		call := tool.Call{ID: name, Args: arguments(t, args)}
		r, err := shell.New().Run(t.Context(), b.env, call)
		if err != nil || !r.IsError {
			t.Errorf("%s: it answers %+v, %v", name, r, err)
		}
		if class := tool.ClassOf(shell.New(), call); class != tool.ReadOnly {
			t.Errorf("%s: a call that is refused is %s", name, class)
		}
	}
}

func TestTheClassIsThatOfTheCall(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]tool.Class{
		`{"command":"true"}`:                   tool.Unsafe,
		`{"command":"true","background":true}`: tool.Unsafe,
		`{"read":"p1"}`:                        tool.ReadOnly,
		`{"kill":"p1"}`:                        tool.Idempotent,
	} {
		if got := tool.ClassOf(shell.New(), tool.Call{Args: []byte(args)}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %s, want %s", args, got, want)
		}
	}
	if shell.New().Spec().Class != tool.Unsafe {
		t.Error("the tool's own class is not that of its worst call")
	}
}

func TestATimeThatIsOverEndsTheTree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.run("c", map[string]any{"command": "(setsid sleep 1000 &); echo before; sleep 1000", "timeout_seconds": 1})
	if !r.IsError || !strings.HasPrefix(r.Text, "before\n[interrupted: ") || !strings.Contains(r.Text, "limit of 1s") {
		t.Errorf("it answers %+v", r)
	}
}

func TestWhatACommandPrintsIsShownMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	done := make(chan tool.Result, 1)
	go func() {
		done <- b.run("c", map[string]any{"command": "echo first; while [ ! -e go ]; do sleep 0.02; done; echo last"})
	}()
	for end := time.Now().Add(20 * time.Second); b.seen() != "first\n"; <-time.NewTimer(5 * time.Millisecond).C {
		if time.Now().After(end) {
			t.Fatalf("people were shown %q", b.seen())
		}
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.Text != "first\nlast\n[exit code 0]" {
		t.Errorf("it answers %q", r.Text)
	}
}

// A call whose turn ends comes back with what is known of it beside the cause.
func TestAnInterruptedCommandTellsItsOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("somebody wanted it")
	go func() {
		for b.seen() == "" {
			<-time.NewTimer(5 * time.Millisecond).C
		}
		cancel(cause)
	}()
	r, err := shell.New().Run(ctx, b.env, tool.Call{ID: "c", Args: arguments(t, map[string]any{"command": "trap '' TERM; echo begun; sleep 1000; sleep 1000"})})
	if !errors.Is(err, cause) || !r.IsError || !strings.HasPrefix(r.Text, "begun\n[interrupted: ") {
		t.Errorf("it answers %+v, %v", r, err)
	}
}

func TestABackgroundProcessIsReadAndKilled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.run("c", map[string]any{"command": "echo up; while [ ! -e go ]; do sleep 0.02; done; echo more; sleep 1000", "background": true})
	m := regexp.MustCompile(`process (p[0-9a-f]{6})\.`).FindStringSubmatch(r.Text)
	if m == nil || r.IsError || !strings.HasSuffix(r.Text, "so far:\nup") {
		t.Fatalf("it answers %+v", r)
	}
	name := m[1]
	if r := b.run("r1", map[string]any{"read": name}); !strings.HasPrefix(r.Text, "up\n[process "+name+" runs since") || r.Summary != "running" {
		t.Errorf("the first read answers %+v", r)
	}
	if r := b.run("r2", map[string]any{"read": name}); !strings.HasPrefix(r.Text, "Nothing new") {
		t.Errorf("a read of nothing new answers %+v", r)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := ""
	for i, end := 0, time.Now().Add(20*time.Second); !strings.Contains(text, "more"); i++ {
		if time.Now().After(end) {
			t.Fatalf("the reads answer %q", text)
		}
		text += b.run("r3"+strings.Repeat("x", i), map[string]any{"read": name}).Text
	}
	if r := b.run("k", map[string]any{"kill": name}); r.IsError || !strings.Contains(r.Text, "are gone") {
		t.Errorf("the kill answers %+v", r)
	}
	if r := b.run("k2", map[string]any{"kill": name}); r.IsError || !strings.Contains(r.Text, "had ended before") {
		t.Errorf("a second kill answers %+v", r)
	}
	if r := b.run("r4", map[string]any{"read": name}); !strings.HasSuffix(r.Text, "[the process was ended]") || r.Summary != "ended" {
		t.Errorf("a read after the end answers %+v", r)
	}
	if r := b.run("r5", map[string]any{"read": "p000000"}); !r.IsError || !strings.Contains(r.Text, name) {
		t.Errorf("a read of an unknown process answers %+v", r)
	}
}

func TestABackgroundProcessThatEndsAtOnceSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.run("c", map[string]any{"command": "echo taken >&2; exit 1", "background": true})
	if !r.IsError || r.Text != "taken\n[exit code 1]" {
		t.Errorf("it answers %+v", r)
	}
}

func TestAWaitingReadComesWithTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.run("c", map[string]any{"command": "sleep 0.6; echo over", "background": true})
	name := regexp.MustCompile(`p[0-9a-f]{6}`).FindString(r.Text)
	if r := b.run("r", map[string]any{"read": name, "wait_seconds": 60}); r.Text != "over\n[exit code 0]" {
		t.Errorf("the read answers %+v", r)
	}
}

// What cannot be started is told to the model, and known: the turn goes on.
func TestACommandThatCannotBeStartedSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if r := b.run("long", map[string]any{"command": "echo " + strings.Repeat("A", 300_000) + " | wc -c"}); !r.IsError || !strings.Contains(r.Text, "write a file and run that") {
		t.Errorf("a command line that is too long answers %+v", r)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	if r := b.run("gone", map[string]any{"command": "true"}); !r.IsError || !strings.Contains(r.Text, "is gone") {
		t.Errorf("without its folder a command answers %+v", r)
	}
}

// A turn that ends before its command begins knows that it did not.
func TestACommandThatWasNotStartedTellsSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("somebody wanted it")
	cancel(cause)
	r, err := shell.New().Run(ctx, b.env, tool.Call{ID: "c", Args: arguments(t, map[string]any{"command": "touch made"})})
	if !errors.Is(err, cause) || !r.IsError || !strings.HasPrefix(r.Text, "[interrupted: the command was not started") {
		t.Errorf("it answers %+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "made")); err == nil {
		t.Error("the command ran")
	}
}

func TestWithoutAWorkspaceOrCommandsItSaysSo(t *testing.T) {
	t.Parallel()
	call := tool.Call{ID: "c", Args: arguments(t, map[string]any{"command": "true"})}
	if r, err := shell.New().Run(t.Context(), tool.Env{}, call); err != nil || !r.IsError {
		t.Errorf("without a workspace it answers %+v, %v", r, err)
	}
	w, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	r, err := shell.New().Run(t.Context(), tool.Env{Workspace: w, Progress: func(string) {}}, call)
	if err != nil || !r.IsError || !strings.Contains(r.Text, workspace.ErrNoCommands.Message) {
		t.Errorf("without commands it answers %+v, %v", r, err)
	}
}
