// Package sandbox is the seam to what keeps the commands of agents away from the server's
// machine. A Provisioner makes, finds and removes sandboxes; what lies in one is reached
// through another seam, the workspace.
//
// Promise: every method may be called again and at the same time. A sandbox is there once,
// whatever the number of calls that want it, and removing what is not there succeeds. What
// a session or a workflow keeps in its workspace outlives Stop and a restart of the server;
// a connect sandbox keeps nothing. That is decided by the scope alone.
package sandbox

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
)

// Scope says whose sandbox it is.
type Scope string

// The scopes.
const (
	Session  Scope = "session"  // of a session; its workspace lasts until the session is deleted
	Workflow Scope = "workflow" // of a workflow's execution; until that ends
	Connect  Scope = "connect"  // of one request; nothing lasts
)

// Keeps tells whether the workspace outlives Stop.
func (s Scope) Keeps() bool { return s == Session || s == Workflow }

// Key names a sandbox.
type Key struct {
	Scope Scope
	ID    string // of the session, the execution or the request; never ""
}

// String is scope:id, as logs name it.
func (k Key) String() string { return string(k.Scope) + ":" + k.ID }

// State says how far a sandbox is.
type State string

// The states.
const (
	Absent  State = "absent"
	Stopped State = "stopped" // its workspace is kept, nothing of it runs
	Running State = "running"
)

// Env holds the facts of one request, and nothing that a driver decides by itself or has
// from its configuration: no address, image, size or lifetime. NewEnv alone makes one.
type Env struct {
	queue string
	token string
	class identity.Class
}

// NewEnv is the environment of a request: the queue that names the lane, the credential
// that what runs inside shows ("" for none), and the class of the caller, which is handed
// on as it is. All three are wanted, so that no caller is forgotten: a sandbox of nobody
// would be taken for a user's.
func NewEnv(queue, token string, class identity.Class) Env {
	return Env{queue: queue, token: token, class: class}
}

// Queue names the lane.
func (e Env) Queue() string { return e.queue }

// Token is the credential; "" for none.
func (e Env) Token() string { return e.token }

// Class is the caller's, for drivers that serve some callers otherwise. The built-in ones
// never look at it.
func (e Env) Class() identity.Class { return e.class }

// Provisioner makes and removes sandboxes. Safe for concurrent use.
type Provisioner interface {
	// EnsureSession makes the session's sandbox run: absent, it is made; stopped, it is
	// started with its workspace; running, nothing happens. It does not wait until what
	// runs inside is ready.
	EnsureSession(ctx context.Context, id string, env Env) error
	// EnsureWorkflow is the same for a workflow's execution.
	EnsureWorkflow(ctx context.Context, id string, env Env) error
	// CreateConnect makes the sandbox of one request, which keeps nothing.
	CreateConnect(ctx context.Context, request string, env Env) error
	// Stop ends what runs and keeps the workspace; of a connect sandbox nothing is kept.
	Stop(ctx context.Context, k Key) error
	// Deprovision ends what runs and removes the workspace.
	Deprovision(ctx context.Context, k Key) error
	// Probe answers absent, stopped or running.
	Probe(ctx context.Context, k Key) (State, error)
	// List finds all sandboxes of this owner, whoever made them.
	List(ctx context.Context) ([]Found, error)
	// Close lets go of what the driver holds. Sandboxes that can outlive it go on.
	Close() error
}

// Found is a sandbox that List saw.
type Found struct {
	Key     Key
	Name    string // in the driver's world: a container's, a folder's
	State   State
	Epoch   int64     // raised by each start of it
	Image   string    // that it was made from; "" where there are none
	Started time.Time // zero when it does not run
}

// Errors of the seam, matched by code and reason.
var (
	// ErrUnusable: the driver cannot make sandboxes on this machine.
	ErrUnusable = fault.New(fault.FailedPrecondition, "SANDBOX_UNUSABLE", "sandboxes cannot be made here")
	// ErrFailed: making, starting or ending one failed.
	ErrFailed = fault.New(fault.Unavailable, "SANDBOX_FAILED", "the sandbox failed")
	// ErrBadID: an id that no sandbox can have.
	ErrBadID = fault.New(fault.InvalidArgument, "BAD_SANDBOX_ID", "a sandbox needs the id of what it belongs to")
)

// Check refuses a key that names nothing.
func (k Key) Check() error {
	if k.ID == "" {
		return ErrBadID
	}
	switch k.Scope {
	case Session, Workflow, Connect:
		return nil
	}
	return ErrBadID.Saying("%q is no scope of sandboxes: it is session, workflow or connect", string(k.Scope))
}
