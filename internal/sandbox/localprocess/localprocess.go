// Package localprocess is the sandbox driver that needs no engine: each sandbox is a process
// tree of this machine, held by bubblewrap in namespaces of its own, without a network, with
// the system read-only, and never as root.
//
// Promise: a sandbox runs at most once; it ends with the server, also when that is killed;
// what ends is proven gone before that is said. A machine on which the isolation is not to be
// had is refused: nothing runs outside of it.
//
// It is not a virtual machine: sandboxes share this machine's kernel, and a fault of the
// kernel may let one out.
package localprocess

import (
	"context"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// Name is the driver's.
const Name = "local-process"

// Registration is the driver.
var Registration = sandbox.Registration{
	Name:   Name,
	Open:   func(ctx context.Context, o sandbox.Options) (sandbox.Provisioner, error) { return open(ctx, o) },
	Usable: usable,
}
