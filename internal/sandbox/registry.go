package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
)

// EnvProvisioner names the driver; empty is none.
const EnvProvisioner = "CADRE_SANDBOX_PROVISIONER"

// builtIn are the names that no other driver may take, built or not.
var builtIn = []string{"local-process", "docker", "kubernetes"}

// Registration is a driver.
type Registration struct {
	Name string
	// Open makes it. It reads its own variables, and refuses with ErrUnusable where it
	// could not make sandboxes.
	Open func(ctx context.Context, o Options) (Provisioner, error)
	// Usable tells whether it could make sandboxes here, and leaves nothing behind; the
	// error is ErrUnusable and says why not and what to do. Nil when that cannot be told.
	Usable func(ctx context.Context, o Options) error
}

// Options are what a driver may need.
type Options struct {
	DataDir string                   // where it may keep files, in folders of its own
	Owner   string                   // the installation: labels tell its sandboxes from others'
	Env     func(name string) string // reads a variable of the environment
	Log     *slog.Logger
	// Hands is the file of the program that works inside, static, for a processor as Go
	// names it ("amd64"). An error says how to build it.
	Hands func(arch string) (path string, err error)
	Lines Lines // the way of that program to the server
}

// SocketName is the socket in a line's folder.
const SocketName = "hands.sock"

// ProxyName is the socket beside it that leads out, where sandboxes may reach something.
const ProxyName = "proxy.sock"

// Lines are the folders with the sockets that the programs inside dial. Safe for concurrent
// use.
type Lines interface {
	// Open makes the server wait for the program of a sandbox and answers with a folder of
	// this machine, absolute, that holds the socket SocketName and is mounted into the
	// sandbox. A driver calls it at every ensure, also for a sandbox that runs: the server
	// may be a new one. The folder stays the same until it is dropped.
	Open(k Key) (dir string, err error)
	// Drop ends that and removes the folder. A driver calls it when it removes a sandbox.
	Drop(k Key) error
}

// Registry holds the drivers by name.
type Registry struct {
	names []string
	all   map[string]Registration
}

// NewRegistry takes Cadre's own drivers and those of units. A name that is empty, taken
// or kept for Cadre's own is refused.
func NewRegistry(own, units []Registration) (*Registry, error) {
	r := &Registry{all: map[string]Registration{}}
	for i, d := range slices.Concat(own, units) {
		switch {
		case d.Name == "":
			return nil, fault.New(fault.InvalidArgument, "DRIVER_WITHOUT_NAME", "a sandbox provisioner has no name: give it one")
		case i >= len(own) && slices.Contains(builtIn, d.Name):
			return nil, fault.New(fault.InvalidArgument, "DRIVER_NAME_RESERVED", "the sandbox provisioner name %q is kept for Cadre's own: choose another", d.Name)
		case r.all[d.Name].Open != nil:
			return nil, fault.New(fault.InvalidArgument, "DRIVER_NAME_TAKEN", "there are two sandbox provisioners named %q: rename one", d.Name)
		}
		r.all[d.Name], r.names = d, append(r.names, d.Name)
	}
	return r, nil
}

// Names are the drivers, in the order of the list.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Select finds the driver that a name asks for; false when it asks for none. An unknown
// name is refused with the known ones.
func (r *Registry) Select(name string) (Registration, bool, error) {
	if name == "" {
		return Registration{}, false, nil
	}
	if d, ok := r.all[name]; ok {
		return d, true, nil
	}
	if slices.Contains(builtIn, name) {
		return Registration{}, false, fault.New(fault.Unimplemented, "SANDBOX_DRIVER_NOT_BUILT", "%s=%s is not built yet; %s", EnvProvisioner, name, r.known())
	}
	return Registration{}, false, fault.New(fault.InvalidArgument, "UNKNOWN_SANDBOX_PROVISIONER",
		"%s=%s is not known; %s%s", EnvProvisioner, name, r.known(), near.Hint(name, r.names))
}

func (r *Registry) known() string {
	if len(r.names) == 0 {
		return "there is none in this build: leave the variable empty, which runs tools on the server's machine"
	}
	return fmt.Sprintf("known are %s, and empty for none", strings.Join(r.names, ", "))
}
