package session

import (
	"context"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

// ensureSandbox makes the session's sandbox for a run that was started or recovered. It
// comes behind the start, so that the sandbox boots while the run waits for a runner, and
// it cannot fail the run.
func ensureSandbox(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "ensure session sandbox", Do: func(ctx context.Context, r *pipeline.Request) error {
		m := r.Answer.(interface {
			GetExecution() *agentexecutionv1.AgentExecution
		}).GetExecution()
		d.Lane.EnsureSession(ctx, lane.Run{
			Execution: m.GetMetadata().GetId(), Session: m.GetSpec().GetSessionId(), Org: m.GetMetadata().GetOrg(), Queue: m.GetSpec().GetActivityTaskQueue(),
		}, lane.CallerOf(r.Caller))
		return nil
	}}
}

// removeSandbox removes the sandbox of a session that was deleted.
func removeSandbox(d pipeline.Deps) *pipeline.After {
	return &pipeline.After{Name: "remove session sandbox", Do: func(ctx context.Context, r *pipeline.Request) {
		d.Lane.SessionDeleted(ctx, r.Row.ID)
	}}
}
