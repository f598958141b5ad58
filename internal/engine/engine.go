// Package engine is the seam to the durable engine. The engine is a cache of
// wake-ups and owns no truth: it carries ids and times, never content, and
// everything it forgets is told to it again from the ledger.
//
// Delivery: a Wake is at least once. Peek and Run may be called again after a
// crash; the ledger's fences make that harmless. For one session at most one
// Run is in progress per engine at any time.
package engine

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Verb says what a session's loop does next. The set is closed: later features
// change what the ledger answers, never the loop.
type Verb string

// The verbs.
const (
	// Idle: nothing to do. The loop stays open for a while, peeks once more with
	// the newest wake revision it has seen, and closes.
	Idle Verb = "idle"
	// Run one attempt, then peek again.
	Run Verb = "run"
	// WaitUntil: peek again at Decision.Until or at the next wake, whichever is first.
	WaitUntil Verb = "wait_until"
	// Interrupt: have the handlers settle an interruption, then peek again.
	Interrupt Verb = "interrupt"
)

// Decision is the answer of a peek. It holds ids and times only.
type Decision struct {
	Verb      Verb
	Execution string    // for Run and Interrupt
	Attempt   string    // for Run: the id of the attempt, allocated by the peek so that the engine's history keeps it
	Until     time.Time // for WaitUntil
	Revision  int64     // the ledger's wake revision at the time of the peek
}

// Attempt names one run of an attempt and where it came from.
type Attempt struct {
	Session   string
	Execution string
	ID        string
	Activity  ActivityRef
	Heartbeat func() // tells the engine that the attempt lives; cheap, call it every few seconds
}

// ActivityRef is how a driver finds a running attempt again, to fail it after
// its process died. All fields are the driver's own; the ledger stores them.
type ActivityRef struct {
	Workflow string
	Run      string
	Activity string
}

// Handlers are what an engine calls. All must be safe for concurrent use by
// many sessions.
type Handlers interface {
	// Peek decides what the session does next. An error is retried with backoff.
	Peek(ctx context.Context, session string) (Decision, error)
	// Run executes one attempt and returns when it is settled or has given up. The
	// context ends when the engine stops, with cause ErrStopping, or gives the attempt
	// up, with cause ErrLost; one that cannot tell this from its own absence, being
	// elsewhere, leaves the attempt alone. An error means that it ended without settling.
	// The loop peeks again either way; from the second such error in a row with backoff.
	Run(ctx context.Context, attempt Attempt) error
	// Interrupt settles an interruption that no live attempt will settle. An error
	// is retried with backoff.
	Interrupt(ctx context.Context, session, execution string) error
	// Connected says that the engine can be reached, for the first time or again, and
	// which memory it has now (its ID): what is open is to be told to it. It may be
	// called any number of times, also at the end of Start, and returns soon: what
	// takes time goes on behind it. Peek and Run may be called before it.
	Connected(ctx context.Context, id string)
}

// Engine wakes sessions.
type Engine interface {
	// ID identifies the engine's own memory: another id means that it knows nothing
	// of what an engine before it was told. Stable over restarts on the same files.
	// It may be called before Start, and Start may change it when it has to rebuild
	// files that prove damaged. One that lives elsewhere has none until it was reached,
	// and another when it comes back without its memory; Connected tells.
	ID() string
	// Start begins to work and calls h. It returns when Wake may be called. One that
	// lives elsewhere starts also while it cannot be reached, and tries by itself.
	Start(ctx context.Context, h Handlers) error
	// Wake makes sure that the session's loop peeks at least once after this call,
	// starting the loop when none is open. revision is the ledger's wake revision
	// that the caller committed. Safe for concurrent use. ErrUnavailable when the
	// engine cannot be reached: the caller keeps its outbox row and tries again.
	Wake(ctx context.Context, session string, revision int64) error
	// Abandon ends attempts of a dead predecessor at once, so that their sessions
	// peek again now and not after a timeout. Unknown ones are no error. Call it
	// after Start and only while holding the proof that the predecessor is gone.
	Abandon(ctx context.Context, refs []ActivityRef) error
	// Health is nil when the engine works, else says what is wrong.
	Health(ctx context.Context) error
	// Stop ends all loops and running attempts (their contexts are cancelled with
	// cause ErrStopping), waits for them until ctx ends, and releases everything.
	Stop(ctx context.Context) error
}

// Errors of the seam, matched by code and reason.
var (
	// ErrUnavailable: the engine cannot be reached or is not started.
	ErrUnavailable = fault.New(fault.Unavailable, "ENGINE_UNAVAILABLE", "the engine cannot be reached").Retry()
	// ErrStopping is the cause with which an attempt's context ends at shutdown.
	ErrStopping = fault.New(fault.Unavailable, "SERVER_STOPPING", "the server is stopping").Retry()
	// ErrLost is the cause with which an attempt's context ends when the engine gave
	// the attempt up: it was silent for too long, or abandoned.
	ErrLost = fault.New(fault.Aborted, "ATTEMPT_LOST", "the engine gave the attempt up").Retry()
)

// Timing holds the waits of a session's loop. The zero value means the defaults.
type Timing struct {
	Linger           time.Duration // how long an idle loop stays open. Default 5 s
	Heartbeat        time.Duration // how often an attempt reports. Default 5 s
	HeartbeatTimeout time.Duration // silence after which an attempt is dead. Default 30 s
	PeekBackoff      time.Duration // first wait after a failed peek, doubled up to 10 s. Default 100 ms
}

// WithDefaults fills in what is zero.
func (t Timing) WithDefaults() Timing {
	if t.Linger == 0 {
		t.Linger = 5 * time.Second
	}
	if t.Heartbeat == 0 {
		t.Heartbeat = 5 * time.Second
	}
	if t.HeartbeatTimeout == 0 {
		t.HeartbeatTimeout = 30 * time.Second
	}
	if t.PeekBackoff == 0 {
		t.PeekBackoff = 100 * time.Millisecond
	}
	return t
}
