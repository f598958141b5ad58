package runner

import (
	"slices"

	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	"github.com/cadre-dev/cadre/internal/lane"
)

// placed says in a policy where the tools work. With sandboxes that is the session's own,
// for an agent that has tools which work on files; a folder of this machine is refused.
func (r *Runner) placed(p *ledgerv1.ExecutionPolicy) error {
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
