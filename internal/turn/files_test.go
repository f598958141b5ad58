package turn_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/write"
	"github.com/cadre-dev/cadre/internal/turn"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// torn is the tool write, whose change is interrupted by the end of its context:
// before it is made, or right after.
type torn struct {
	tool.FileTool
	made bool
	end  func()
}

func (f torn) Prepare(ctx context.Context, env tool.Env, call tool.Call) (*tool.Mutation, tool.Result, error) {
	m, r, err := f.FileTool.Prepare(ctx, env, call)
	if m == nil || err != nil {
		return m, r, err
	}
	commit := m.Commit
	m.Commit = func(ctx context.Context) error {
		if f.made {
			if err := commit(ctx); err != nil {
				return err
			}
		}
		f.end()
		return context.Cause(ctx)
	}
	return m, r, nil
}

// tear runs a turn whose one write is interrupted with a cause.
func tear(t *testing.T, made bool, cause error) *world {
	t.Helper()
	w := newWorld(t)
	ctx, stop := context.WithCancelCause(t.Context())
	w.tools["write"] = torn{write.New().(tool.FileTool), made, func() { stop(cause) }}
	w.play = replies([]model.Part{call("c1", "write", `{"path":"a.txt","content":"new"}`), end(1, 1)}, []model.Part{text("done"), end(1, 1)})
	w.accept("write")
	if err := turn.Run(ctx, w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	return w
}

// The log never says of a change that it was made when it was not: a stopped server
// leaves it to the next attempt, which looks at the file.
func TestAChangeThatAStopInterruptsIsMadeOnce(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{false, true} {
		w := tear(t, made, engine.ErrStopping)
		if n := w.count("agent.tool.completed") + w.count("agent.tool.failed"); n != 0 {
			t.Errorf("made %t: the interrupted attempt says what came of the call: %v", made, w.types())
		}
		w.tools["write"] = write.New()
		if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(w.folder, "a.txt")); err != nil || string(data) != "new" {
			t.Errorf("made %t: the file holds %q (%v)", made, data, err)
		}
		if got := w.last("agent.tool.completed").GetAgentToolCompleted(); got.GetRecovered() != made || w.count("agent.tool.completed") != 1 {
			t.Errorf("made %t: the log says %v", made, got)
		}
	}
}

// A cancelled turn's log tells of each change whether it was made.
func TestAChangeThatACancelInterruptsIsTold(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{false, true} {
		w := tear(t, made, turn.ErrCancelled)
		_, err := os.Stat(filepath.Join(w.folder, "a.txt"))
		if exists := err == nil; exists != made {
			t.Fatalf("made %t: the file exists: %t", made, exists)
		}
		completed, failed := w.count("agent.tool.completed"), w.count("agent.tool.failed")
		if (completed == 1) != made || (failed == 1) == made || w.count("agent.tool.outcome_unknown") != 0 {
			t.Errorf("made %t: the log is %v", made, w.types())
		}
		if w.status().GetPhase() != agentexecutionv1.ExecutionPhase_cancelled {
			t.Errorf("made %t: the turn is %s", made, w.status().GetPhase())
		}
	}
}

// refusing is the tool write, whose change the workspace refuses at the last moment.
type refusing struct {
	tool.FileTool
	err error
}

func (f refusing) Prepare(ctx context.Context, env tool.Env, call tool.Call) (*tool.Mutation, tool.Result, error) {
	m, r, err := f.FileTool.Prepare(ctx, env, call)
	if m != nil {
		m.Commit = func(context.Context) error { return f.err }
	}
	return m, r, err
}

// A change that cannot be made any more, since its folder is gone or the disk is
// full, is told to the model; the turn goes on.
func TestAChangeThatCannotBeMadeIsTold(t *testing.T) {
	t.Parallel()
	for _, err := range []error{workspace.ErrNotFound, workspace.ErrFull, workspace.ErrDenied} {
		w := newWorld(t)
		w.tools["write"] = refusing{write.New().(tool.FileTool), err}
		w.play = replies([]model.Part{call("c1", "write", `{"path":"a.txt","content":"new"}`), end(1, 1)}, []model.Part{text("so it is"), end(1, 1)})
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if w.count("agent.tool.failed") != 1 || w.status().GetPhase() != agentexecutionv1.ExecutionPhase_completed {
			t.Errorf("%v: the turn is %s, its log %v", err, w.status().GetPhase(), w.types())
		}
	}
}
