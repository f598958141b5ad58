package turn_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/applypatch"
	"github.com/cadre-dev/cadre/internal/turn"
)

// cut is the tool apply_patch, whose changes stop after some of its files, as at
// the end of the server.
type cut struct {
	tool.FilesTool
	after   int
	end     func()
	commits *[]string // that were made
}

func (f cut) PrepareAll(ctx context.Context, env tool.Env, call tool.Call, done func(string) bool) ([]*tool.Mutation, tool.Result, error) {
	all, r, err := f.FilesTool.PrepareAll(ctx, env, call, done)
	for i, m := range all {
		commit := m.Commit
		m.Commit = func(ctx context.Context) error {
			if i == f.after {
				f.end()
				return context.Cause(ctx)
			}
			*f.commits = append(*f.commits, m.Path)
			return commit(ctx)
		}
	}
	return all, r, err
}

const threeFiles = `{"patch":"*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** Update File: b.txt\n@@\n-old\n+new\n*** Add File: c.txt\n+new\n*** End Patch\n"}`

// patched runs a turn whose patch is cut off after some of its files.
func patched(t *testing.T, after int) (*world, *[]string) {
	t.Helper()
	w := newWorld(t)
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(w.folder, name), []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	commits := &[]string{}
	w.tools["apply_patch"] = cut{applypatch.New().(tool.FilesTool), after, func() { stop(engine.ErrStopping) }, commits}
	w.play = replies([]model.Part{call("c1", "apply_patch", threeFiles), end(1, 1)}, []model.Part{text("done"), end(1, 1)})
	w.accept("patch")
	if err := turn.Run(ctx, w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := w.count("agent.tool.completed") + w.count("agent.tool.failed"); n != 0 {
		t.Fatalf("the interrupted attempt says what came of the call: %v", w.types())
	}
	w.tools["apply_patch"] = cut{applypatch.New().(tool.FilesTool), -1, nil, commits}
	return w, commits
}

// Reliability line 4 over several files: after an interruption in the middle of a patch each
// file is changed exactly once.
func TestAPatchThatAStopCutsIsMadeOncePerFile(t *testing.T) {
	t.Parallel()
	for after := range 3 {
		w, commits := patched(t, after)
		if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(*commits, " "); got != "a.txt b.txt c.txt" {
			t.Errorf("cut after %d: the files were changed in the order %s, want each once", after, got)
		}
		for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
			if data, err := os.ReadFile(filepath.Join(w.folder, name)); err != nil || string(data) != "new\n" {
				t.Errorf("cut after %d: %s is %q, %v", after, name, data, err)
			}
		}
		if w.status().GetPhase() != agentexecutionv1.ExecutionPhase_completed || w.count("agent.tool.completed") != 1 {
			t.Errorf("cut after %d: the log is %v", after, w.types())
		}
	}
}

// A file that somebody else changed meanwhile makes the outcome unknown: nothing is
// written over.
func TestAPatchOverAForeignChangeIsUnknown(t *testing.T) {
	t.Parallel()
	w, _ := patched(t, 1)
	if err := os.WriteFile(filepath.Join(w.folder, "b.txt"), []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(filepath.Join(w.folder, "b.txt")); string(data) != "mine\n" {
		t.Errorf("b.txt is %q", data)
	}
	if w.status().GetWaitingFor() != "outcome_unknown" {
		t.Errorf("the turn is %v", w.status())
	}
}

// A cancel in the middle of a patch tells which files were changed.
func TestACancelledPatchTellsWhatWasChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(w.folder, name), []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	w.tools["apply_patch"] = cut{applypatch.New().(tool.FilesTool), 2, func() { stop(turn.ErrCancelled) }, &[]string{}}
	w.play = replies([]model.Part{call("c1", "apply_patch", threeFiles), end(1, 1)})
	if err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	if got := w.last("agent.tool.failed").GetAgentToolFailed().GetResult(); !strings.Contains(got, "Changed: a.txt, b.txt. Not changed: c.txt.") {
		t.Errorf("the log says %q", got)
	}
}
