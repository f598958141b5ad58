package store

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Liveness says how far a sandbox is, as its lease knows it.
type Liveness string

// A sandbox goes round: cold → warming → warm → draining → cold. One that fails while it
// is warmed is cold again.
const (
	SandboxCold     Liveness = "cold"     // nothing of it runs; its workspace may be kept
	SandboxWarming  Liveness = "warming"  // a server makes or starts it
	SandboxWarm     Liveness = "warm"     // it runs, and who holds it may use it
	SandboxDraining Liveness = "draining" // a server stops or removes it
)

// SandboxKey names a sandbox.
type SandboxKey struct {
	Scope string
	ID    string
}

// SandboxLease is the row of one sandbox.
type SandboxLease struct {
	SandboxKey
	Liveness Liveness
	Epoch    int64     // raised by each warming; who writes with an older one is refused
	Node     string    // of the server on whose machine it lies
	Boot     string    // of the process that warms, warmed or drains it
	Until    time.Time // while it warms or drains: from then on another process may take that over
	Image    string    // that it was made from; "" where there are none
	Root     string    // its workspace's folder inside; "" before it was warm
	Warm     time.Time // since when it runs; zero when it does not
	Idle     time.Time // since when nobody holds it; zero while somebody does
	Deadline time.Time // when its provider ends it by itself; zero for never
	Holders  []SandboxHolder
}

// SandboxHolder keeps a sandbox from being reaped.
type SandboxHolder struct {
	ID        string    // an attempt, or what else uses it; unique
	Execution string    // "" when it is none's
	Until     time.Time // zero: as long as the attempt of that id is alive in the ledger
}

// SandboxHold is the wish to use a sandbox.
type SandboxHold struct {
	SandboxKey
	Holder SandboxHolder
	Node   string
	Boot   string        // of this process
	Limit  time.Duration // how long a warming by this process may take
	Now    time.Time
}

// SandboxDrain is the wish to end what runs of a sandbox.
type SandboxDrain struct {
	SandboxKey
	Epoch int64 // that was seen; 0 for whichever
	Node  string
	Boot  string
	Limit time.Duration // how long the end may take
	Held  bool          // although somebody holds it
	Now   time.Time
}

// Sandboxes are the leases of sandboxes: of many servers and processes one warms a sandbox,
// and one ends it, while nobody uses it. Each method is one transaction.
//
// A process that died in the middle loses its place to another one of its own node at once
// (the data folder's lock proves its end), and to others when its time is over: whoever
// warms or drains must stop before Until.
type Sandboxes interface {
	// HoldSandbox notes the holder and answers the lease. One that is cold becomes
	// warming, with the next epoch, and the caller's to warm: Boot is then the caller's. A
	// holder that holds already stays as it is. Nothing is noted while the sandbox is
	// draining: ask again. A row whose sandbox lies on another node stays there.
	HoldSandbox(ctx context.Context, h SandboxHold) (SandboxLease, error)
	// WarmedSandbox makes a warming of l's epoch and boot warm, with l's node, image, root
	// and deadline. ErrSandboxLost.
	WarmedSandbox(ctx context.Context, l SandboxLease, now time.Time) error
	// CooledSandbox notes that what was warming or warm in l's epoch does not run.
	// ErrSandboxLost.
	CooledSandbox(ctx context.Context, l SandboxLease, now time.Time) error
	// ReleaseSandbox forgets a holder. Without one that is alive the sandbox is idle.
	ReleaseSandbox(ctx context.Context, k SandboxKey, holder string, now time.Time) error
	// DrainSandbox makes a sandbox draining, the caller's to end. ErrSandboxHeld while
	// somebody holds it, ErrSandboxBusy while another process warms or drains it,
	// ErrSandboxLost when its epoch is another one. One without a row gets one.
	DrainSandbox(ctx context.Context, d SandboxDrain) (SandboxLease, error)
	// DrainedSandbox makes a draining of l's epoch and boot cold, or with gone removes the
	// row. ErrSandboxLost.
	DrainedSandbox(ctx context.Context, l SandboxLease, gone bool, now time.Time) error
	// ForgetHolders removes holders that are alive no more, notes what is idle since, and
	// counts them.
	ForgetHolders(ctx context.Context, now time.Time) (int64, error)
	// Sandbox reads a lease. NotFound.
	Sandbox(ctx context.Context, k SandboxKey) (SandboxLease, error)
	// Sandboxes answers leases in the order of their keys, those behind one.
	Sandboxes(ctx context.Context, after SandboxKey, limit int) ([]SandboxLease, error)
}

// The faults of sandboxes' leases.
var (
	ErrSandboxHeld = fault.New(fault.FailedPrecondition, "SANDBOX_HELD", "the sandbox is in use")
	ErrSandboxBusy = fault.New(fault.Unavailable, "SANDBOX_BUSY", "another process starts or ends the sandbox").Retry()
	ErrSandboxLost = fault.New(fault.Aborted, "SANDBOX_LEASE_LOST", "the sandbox was started or ended anew meanwhile")
)
