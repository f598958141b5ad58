package turn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/shell"
	"github.com/cadre-dev/cadre/internal/turn"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

// faraway is a folder in a sandbox whose commands start as the test says.
type faraway struct {
	workspace.Workspace
	start func(workspace.Command) (workspace.Process, error)
}

func (f faraway) Start(_ context.Context, c workspace.Command) (workspace.Process, error) {
	return f.start(c)
}

// printedProcess is a command that ended at once.
type printedProcess struct{ c workspace.Command }

var endedAtOnce = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (p printedProcess) Command() workspace.Command               { return p.c }
func (p printedProcess) Started() time.Time                       { return time.Now() }
func (p printedProcess) Output(int64) workspace.Output            { return workspace.Output{Text: []byte("ran")} }
func (p printedProcess) Unread(string) workspace.Output           { return p.Output(0) }
func (p printedProcess) Done() <-chan struct{}                    { return endedAtOnce }
func (p printedProcess) Exit() workspace.Exit                     { return workspace.Exit{} }
func (p printedProcess) End(context.Context, time.Duration) error { return nil }

// boxedWorld plays a model that runs one command in a sandbox and then ends.
func boxedWorld(t *testing.T, start func(n int, c workspace.Command) (workspace.Process, error)) (w *world, started *int) {
	t.Helper()
	w, started = newWorld(t), new(int)
	w.tools["shell"], w.approve, w.sandbox = shell.New(), agentexecutionv1.ApprovalMode_auto, true
	w.opt.Recovery.Delays = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	w.play = replies([]model.Part{call("c1", "shell", `{"command":"make it"}`), end(1, 1)}, []model.Part{text("so it is"), end(1, 1)})
	w.place = func(_ context.Context, p turn.Place) (workspace.Workspace, error) {
		folder, err := local.Open(p.Folder)
		return faraway{folder, func(c workspace.Command) (workspace.Process, error) {
			*started++
			return start(*started, c)
		}}, err
	}
	return w, started
}

// T18: a command whose start nobody knows of is not sent again, by nothing: the turn fails
// and says what to do; the next message goes on without it.
func TestAStartThatNobodyKnowsOfIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w, started := boxedWorld(t, func(int, workspace.Command) (workspace.Process, error) {
		return nil, &workspace.StartUnknown{Err: workspace.ErrFailed}
	})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := w.last("turn.failed").GetTurnFailed().GetError()
	if told.GetCode() != "sandbox_command_start_outcome_unknown" || told.GetRetryable() || *started != 1 {
		t.Errorf("after %d starts the failure is %v", *started, told)
	}
	for _, words := range []string{"possibly ran", "no acknowledgement", "not sent again", "look into the sandbox"} {
		if !strings.Contains(told.GetMessage(), words) {
			t.Errorf("the text does not say %q: %s", words, told.GetMessage())
		}
	}
	if work, err := w.store.Peek(t.Context(), w.session, w.Now().Add(time.Hour)); err != nil || work.State != store.WorkNone {
		t.Errorf("there is more to do: %+v, %v", work, err)
	}
}

// T19: a command of which nothing was sent is made by a later attempt, although it is one that
// is never run again: it is proven that it did not begin.
func TestAStartThatWasNotSentIsMadeLater(t *testing.T) {
	t.Parallel()
	w, started := boxedWorld(t, func(n int, c workspace.Command) (workspace.Process, error) {
		if n < 3 {
			return nil, &workspace.StartUnavailable{Err: workspace.ErrFailed}
		}
		return printedProcess{c}, nil
	})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		told := w.waits("provider")
		if told.GetError().GetCode() != "sandbox_command_start_unavailable" || !told.GetError().GetRetryable() || told.GetRecovery() != int32(n)+1 {
			t.Fatalf("wait %d is %v", n+1, told)
		}
		w.goOn(t.Context())
	}
	if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_completed || *started != 3 || w.count("agent.tool.completed") != 1 || w.count("agent.model.request") != 2 {
		t.Errorf("after %d starts the turn is %s: %v", *started, st.GetPhase(), w.types())
	}
}

// T20: what was not sent while the sandbox possibly changed is not tried again.
func TestAStartWhoseRouteIsNotKnown(t *testing.T) {
	t.Parallel()
	w, started := boxedWorld(t, func(int, workspace.Command) (workspace.Process, error) {
		return nil, &workspace.StartUnavailable{Err: &workspace.RouteUnknown{Err: workspace.ErrFailed}}
	})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if told := w.last("turn.failed").GetTurnFailed().GetError(); told.GetCode() == "sandbox_command_start_unavailable" || *started != 1 {
		t.Errorf("after %d starts the failure is %v", *started, told)
	}
}

// T22: a workspace that is another folder than before, and a file that is not what was written,
// are failures of their own; the second one tells four things and nothing else.
func TestAWorkspaceThatIsNotWhatItWas(t *testing.T) {
	t.Parallel()
	for code, cause := range map[string]error{
		"sandbox_workspace_root_changed": &workspace.RootChanged{Was: "/workspace", Is: "/elsewhere"},
		"sandbox_write_not_visible":      &workspace.NotVisible{Reason: "absent", Path: "a.txt", Workdir: "/workspace", Exit: 1},
	} {
		w, _ := boxedWorld(t, nil)
		w.place = func(_ context.Context, p turn.Place) (workspace.Workspace, error) {
			if p.Prefetch {
				return nil, errors.New("not yet")
			}
			return nil, cause
		}
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		told := w.last("turn.failed").GetTurnFailed().GetError()
		if told.GetCode() != code || told.GetRetryable() || w.count("agent.tool.started") != 0 {
			t.Errorf("%s is told as %v", code, told)
		}
		if code == "sandbox_write_not_visible" && told.GetDetail() != "reason absent, path a.txt, workdir /workspace, exit code 1" {
			t.Errorf("its detail is %q", told.GetDetail())
		}
	}
}

// A sandbox is asked for beside the first model request, once in an attempt, and the request
// does not wait; a tool that needs none does not wait either.
func TestTheModelDoesNotWaitForTheSandbox(t *testing.T) {
	t.Parallel()
	w, _ := boxedWorld(t, func(_ int, c workspace.Command) (workspace.Process, error) { return printedProcess{c}, nil })
	w.tools["plain"] = plain{}
	open := make(chan struct{})
	var asked []bool
	w.place = func(ctx context.Context, p turn.Place) (workspace.Workspace, error) {
		asked = append(asked, p.Prefetch)
		p.Tell(&eventv1.SandboxWarming{Epoch: 1, Prefetch: p.Prefetch})
		select {
		case <-open:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		p.Tell(&eventv1.SandboxReady{Epoch: 1})
		folder, err := local.Open(p.Folder)
		return faraway{folder, func(c workspace.Command) (workspace.Process, error) { return printedProcess{c}, nil }}, err
	}
	answers := 0
	w.play = func(ctx context.Context, req model.Request) parts {
		answers++
		switch answers {
		case 1:
			return replies([]model.Part{text("first words"), call("c1", "plain", `{}`), end(1, 1)})(ctx, model.Request{})
		case 2:
			close(open) // only now: two requests and a tool went without it
			return replies([]model.Part{call("c2", "shell", `{"command":"make it"}`), end(1, 1)})(ctx, model.Request{})
		}
		return replies([]model.Part{text("so it is"), end(1, 1)})(ctx, model.Request{})
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.status().GetPhase() != agentexecutionv1.ExecutionPhase_completed || !slices.Equal(asked, []bool{true}) {
		t.Errorf("the turn is %s, and the sandbox was asked for as %v", w.status().GetPhase(), asked)
	}
	all := w.types()
	if words, ready := slices.Index(all, "agent.message.completed"), slices.Index(all, "sandbox.ready"); words < 0 || ready < words {
		t.Errorf("the log is %v", all)
	}
}

// plain is a tool that needs no folder.
type plain struct{}

func (plain) Spec() tool.Spec {
	return tool.Spec{Name: "plain", Description: "x", Schema: []byte(`{"type":"object"}`), Class: tool.ReadOnly, NoFiles: true}
}

func (plain) Run(_ context.Context, env tool.Env, _ tool.Call) (tool.Result, error) {
	if env.Workspace != nil {
		return tool.Result{}, fault.New(fault.Internal, "HAS_FOLDER", "it was given a folder")
	}
	return tool.Result{Text: "ok"}, nil
}

// A turn that ends before its sandbox is ready leaves it, and tells nothing behind its end.
func TestATurnEndsBeforeItsSandboxIsReady(t *testing.T) {
	t.Parallel()
	w, _ := boxedWorld(t, nil)
	left := make(chan error, 1)
	w.place = func(ctx context.Context, p turn.Place) (workspace.Workspace, error) {
		p.Tell(&eventv1.SandboxWarming{Epoch: 1, Prefetch: p.Prefetch})
		<-ctx.Done()
		left <- ctx.Err()
		return nil, context.Cause(ctx)
	}
	w.play = replies([]model.Part{text("hello"), end(1, 1)})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-left; err == nil {
		t.Error("it was not left")
	}
	all := w.events()
	if last := all[len(all)-1]; last.GetType() != "session.status.changed" && last.GetType() != "turn.completed" || last.GetAssociation() != eventv1.Association_current {
		t.Errorf("the log ends with %v", last)
	}
}

// T23: a file that came with the message lies in the sandbox before the first tool works there;
// one that cannot be brought does not end the turn, and the model is told.
func TestAttachedFilesLieInTheSandbox(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		w, _ := boxedWorld(t, func(_ int, c workspace.Command) (workspace.Process, error) { return printedProcess{c}, nil })
		kept, err := w.artifacts.Put(t.Context(), strings.NewReader("a,b"))
		if err != nil {
			t.Fatal(err)
		}
		w.attached = []*messagev1.Attachment{
			{ArtifactId: "art_1", Name: "table.csv", MediaType: "text/csv", Sha256: kept.SHA256, Size: 3},
			{ArtifactId: "art_2", Name: "../../gone.csv", MediaType: "text/csv", Sha256: strings.Repeat("0", 64), Size: 3},
		}
		w.place = func(_ context.Context, p turn.Place) (workspace.Workspace, error) {
			folder, err := local.Open(p.Folder)
			f := faraway{folder, func(c workspace.Command) (workspace.Process, error) { return printedProcess{c}, nil }}
			if broken {
				return unwritable{f}, err
			}
			return f, err
		}
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_completed {
			t.Fatalf("the turn is %v", st)
		}
		text := w.last("agent.tool.completed").GetAgentToolCompleted().GetResult()
		data, err := os.ReadFile(filepath.Join(w.folder, "attachments", "art_1", "table.csv"))
		switch {
		case !strings.Contains(text, "gone.csv could not be put into the sandbox: its content is gone"):
			t.Errorf("the model is told %q", text)
		case broken && (err == nil || !strings.Contains(text, "table.csv could not be put into the sandbox: a file that was written is absent")):
			t.Errorf("of a file that is not found it is told %q, %v", text, err)
		case !broken && (err != nil || string(data) != "a,b" || strings.Contains(text, "table.csv")):
			t.Errorf("inside there is %q, %v, and the model is told %q", data, err, text)
		}
	}
}

// unwritable is a folder in which what was written is not found.
type unwritable struct{ workspace.Workspace }

func (unwritable) Replace(context.Context, workspace.Replacement) error { return nil }
