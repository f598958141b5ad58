package lane

import (
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

// Folder is the workspace inside sandboxes, as agents are told of it.
const Folder = "/workspace"

// ErrHostFolder: a session names a folder of the server's machine where tools work in
// sandboxes.
var ErrHostFolder = fault.New(fault.FailedPrecondition, "HOST_FOLDER_WITH_SANDBOXES", "tools work in sandboxes here, which see no folder of the server's machine")

// HostFolder refuses one.
func HostFolder(path string) error {
	return ErrHostFolder.Saying("tools work in sandboxes here (%s), which do not see the folder %s of the server's machine: leave the workspace out, and the session gets a sandbox with an empty %s of its own", sandbox.EnvProvisioner, path, Folder)
}

// Hands tells whether the tools of trusted runners work in sandboxes.
func (l *Lane) Hands() bool { return l != nil && l.o.Leases != nil }

// ErrHosted: the sandbox would have to host the run.
var ErrHosted = fault.New(fault.Unimplemented, "SANDBOX_RUNNER_NOT_BUILT",
	"the sandbox of this session would host the whole turn (%s=runner), which is not built yet: set it to hands, or the session's execution target to local", EnvPlacement)

// Refuse refuses a run that nothing can take: its sandbox would host it. It never runs on
// this machine instead.
func (l *Lane) Refuse(target sessionv1.ExecutionTarget) error {
	if l == nil || !l.o.Settings.InSandbox || !l.o.Settings.cloud(target) {
		return nil
	}
	return ErrHosted
}

// Leases are the lane's; nil when it has none.
func (l *Lane) Leases() *Leases {
	if l == nil {
		return nil
	}
	return l.o.Leases
}
