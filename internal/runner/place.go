package runner

import (
	"errors"
	"slices"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// placed says in a policy where the tools work. With sandboxes that is the session's own,
// for an agent that has tools which work on files; a folder of this machine is refused, and
// so is a run that its sandbox would host.
func (r *Runner) placed(p *ledgerv1.ExecutionPolicy, s *sessionv1.Session, x *agentexecutionv1.AgentExecution) error {
	if r.hosts != nil {
		if err := r.hosts(s.GetSpec().GetExecutionTarget()); err != nil {
			if stamp := x.GetStatus().GetError(); stamp != nil {
				return &stamped{stamp, err}
			}
			return err
		}
	}
	if !r.boxed {
		return nil
	}
	if p.GetWorkspace() != "" {
		return lane.HostFolder(p.GetWorkspace())
	}
	if slices.ContainsFunc(p.GetTools(), r.onFiles) {
		p.Workspace, p.Sandbox = lane.Folder, true
	}
	return nil
}

// onFiles tells whether a tool works on files; one that nobody knows does not.
func (r *Runner) onFiles(name string) bool {
	found, ok := r.effects.Tool(name)
	return ok && !found.Spec().NoFiles
}

// stamped is a refusal of a run on which the reason for it stands already.
type stamped struct {
	told  *agentexecutionv1.ExecutionError
	cause error
}

func (s *stamped) Error() string { return s.told.GetMessage() }
func (s *stamped) Unwrap() error { return s.cause }

// toldOf is what a refused run ends with: the first reason that was written onto it wins.
func toldOf(refusal error) *agentexecutionv1.ExecutionError {
	var s *stamped
	if errors.As(refusal, &s) {
		return s.told
	}
	return failure.Classify(refusal).Proto()
}
