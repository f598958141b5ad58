package lane

import (
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

// Leases are the lane's; nil when it has none.
func (l *Lane) Leases() *Leases {
	if l == nil {
		return nil
	}
	return l.o.Leases
}
