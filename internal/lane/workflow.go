package lane

import (
	"context"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

// WorkflowRun is an execution of a workflow that is about to be stored, or started anew.
type WorkflowRun struct {
	Execution string
	Org       string
	Target    sessionv1.ExecutionTarget // unspecified for the server's default
}

// ErrWorkflow refuses an execution whose sandbox cannot be made. Its words are part of
// the contract.
var ErrWorkflow = fault.New(fault.Unavailable, "WORKFLOW_SANDBOX_UNAVAILABLE", "failed to provision workflow sandbox")

// EnsureWorkflow makes the sandbox of an execution, before anything of it is stored. It
// reads nothing.
func (l *Lane) EnsureWorkflow(ctx context.Context, r WorkflowRun, c Caller) error {
	if l == nil || r.Execution == "" || !l.o.Settings.InSandbox || !l.o.Settings.PerExecution || !l.o.Settings.cloud(r.Target) {
		return nil
	}
	if err := l.ensureWorkflow(ctx, r, c); err != nil {
		l.o.Log.ErrorContext(ctx, "workflow sandbox cannot be made; the execution is refused", "execution", r.Execution, "error", err)
		return ErrWorkflow.Because(err)
	}
	return nil
}

func (l *Lane) ensureWorkflow(ctx context.Context, r WorkflowRun, c Caller) (err error) {
	defer caught(&err)
	token, err := l.token(ctx, MintRequest{Scope: sandbox.Workflow, Execution: r.Execution, Org: r.Org, Caller: c.ID})
	if err != nil {
		return err
	}
	return masked(l.o.Provisioner.EnsureWorkflow(ctx, r.Execution, sandbox.NewEnv(WorkflowQueue(r.Execution), token, c.Class)), token)
}

// Phase is how far an execution of a workflow is.
type Phase string

// The phases that end one. Every other word is one in which it goes on.
const (
	Completed  Phase = "COMPLETED"
	Failed     Phase = "FAILED"
	Cancelled  Phase = "CANCELLED"
	Terminated Phase = "TERMINATED"
)

func (p Phase) terminal() bool {
	return p == Completed || p == Failed || p == Cancelled || p == Terminated
}

// WorkflowChanged is called by whatever wrote an execution's phase. When that really
// ended it, the sandbox is removed in the background; the caller goes on at once. Another
// call for the same end does no harm.
func (l *Lane) WorkflowChanged(ctx context.Context, execution string, previous, current Phase) {
	if l == nil || execution == "" || previous == current || !current.terminal() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	l.ends.Go(func() {
		if err := l.deprovision(ctx, sandbox.Key{Scope: sandbox.Workflow, ID: execution}); err != nil {
			l.o.Log.ErrorContext(ctx, "workflow sandbox cannot be removed, and may be left over: nobody tries again", "execution", execution, "error", err)
			return
		}
		l.o.Log.InfoContext(ctx, "workflow sandbox was removed", "execution", execution, "phase", string(current))
	})
}
