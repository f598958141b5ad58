package runner

import (
	"context"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/turn"
)

// Sessions are those that attempts work on here.
func (r *Runner) Sessions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]string, 0, len(r.live))
	for _, a := range r.live {
		all = append(all, a.session)
	}
	return all
}

// Look ends the session's attempt here when its end was asked for on another server.
func (r *Runner) Look(ctx context.Context, session string) error {
	for _, a := range r.attempts(session) {
		m := &agentexecutionv1.AgentExecution{}
		if err := r.read(ctx, resourcev1.ResourceKind_agent_execution, a.execution, m); err != nil {
			return err
		}
		if m.GetStatus().GetPhase() == agentexecutionv1.ExecutionPhase_cancelling {
			a.cancel(turn.ErrCancelled)
		}
	}
	return nil
}

func (r *Runner) attempts(session string) []*attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*attempt
	for _, a := range r.live {
		if a.session == session {
			all = append(all, a)
		}
	}
	return all
}
