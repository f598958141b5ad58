package store

import (
	"context"
	"strings"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
)

// Ledger holds the truth of sessions and turns. Each method is one transaction.
// Events that a call takes need type, payload and time; session, seq, execution,
// attempt and generation are filled in by the store, and the events that were
// committed go to OnCommit.
type Ledger interface {
	Retention
	// Accept makes an input durable, with its execution and, when a.Session is set,
	// its session. WORKSPACE_HELD when another session works in the same
	// folder, SESSION_BUSY when the session refuses inputs while a turn runs. The answer
	// is the wake revision to tell the engine.
	Accept(ctx context.Context, a Accept) (revision int64, err error)
	// CreateSession stores a session without an input.
	CreateSession(ctx context.Context, s NewSession, once *Once) error
	// DeleteSession removes a session with its executions, events and history. A
	// session with work in progress is refused.
	DeleteSession(ctx context.Context, session string, once *Once) (Row, error)

	// Peek says what a session has to do. It closes the outbox row when there is
	// nothing to claim; a claim closes it otherwise. A timer that is due at now is
	// consumed: the execution that waits for it can be claimed.
	Peek(ctx context.Context, session string, now time.Time) (Work, error)
	// Claim makes the attempt the owner of the execution. ErrNoWork, ErrOwned.
	Claim(ctx context.Context, c Claim) (Claimed, error)
	// Append adds events of a running turn. ErrFenced keeps them as late_rejected.
	Append(ctx context.Context, f Fence, events []*eventv1.Event) error
	// Dispatch is the checkpoint before a model request: when it has returned, the
	// request's bytes may leave, and what it can cost at most is held under every budget
	// that it falls under. *Exhausted when one of them has no room, ErrUnpriced when one
	// bounds money and the hold has no price; then nothing is written.
	Dispatch(ctx context.Context, f Fence, d Dispatch) error
	// Respond settles a dispatch with its answer: history item, tool calls, usage.
	// Usage is written once per (execution, number).
	Respond(ctx context.Context, f Fence, r Response) error
	// StartTools registers that calls are about to take effect.
	StartTools(ctx context.Context, f Fence, starts []ToolStart) error
	// UnstartTools takes back that calls are about to take effect: it is proven that
	// nothing of them began.
	UnstartTools(ctx context.Context, f Fence, calls []string) error
	// FinishTools records outcomes and the items that the model will read.
	FinishTools(ctx context.Context, f Fence, results []ToolFinish) error
	// AddItem appends an item that Cadre itself adds to the history. handOff notes that
	// it is the hand-off of the final reply, which an execution gets once.
	AddItem(ctx context.Context, f Fence, item *messagev1.Item, handOff bool) error
	// Compact replaces the session's history by a shorter one, and settles the request that
	// gave the summary. Either all of it is done or nothing.
	Compact(ctx context.Context, f Fence, c Compaction) error
	// Settle ends the execution, or lets it wait.
	Settle(ctx context.Context, f Fence, s Settlement) error
	// Release gives the execution back without an outcome, with the proof that the
	// attempt works no more: the next claim continues it at once.
	Release(ctx context.Context, f Fence, reason string, now time.Time) error

	// RequestCancel ends queued executions at once and marks running ones; the
	// target is a session or an execution. It answers the executions concerned and
	// the attempts that must be told.
	RequestCancel(ctx context.Context, c CancelRequest) (CancelAnswer, error)
	// Recover lets a waiting or a failed execution go on: the call whose outcome is
	// unknown gets that as its result, and the next claim raises the generation. A failed
	// one must be its session's newest, with nothing open after it. ErrNotRecoverable.
	Recover(ctx context.Context, r RecoverRequest) (RecoverAnswer, error)
	// Cancelling says who has not confirmed the end of a cancelled execution yet.
	Cancelling(ctx context.Context, f Fence, unconfirmed []string, now time.Time) error
	// SettleInterrupted ends an execution whose cancel was requested and that no
	// attempt works on. ErrNoWork when there is nothing to end.
	SettleInterrupted(ctx context.Context, session, execution string, now time.Time) error

	// Events reads a log in order.
	Events(ctx context.Context, q EventQuery) ([]*eventv1.Event, error)
	// Session reads a session's ledger row. NotFound when absent.
	Session(ctx context.Context, session string) (SessionState, error)
	// Open lists, in id order after the given id, every session with unsettled work:
	// an outbox row, an execution without an outcome, a timer.
	Open(ctx context.Context, after string, limit int) ([]Nudge, error)
	// Stale lists sessions whose outbox row is older than before, or whose timer is
	// due at now.
	Stale(ctx context.Context, before, now time.Time, limit int) ([]Nudge, error)
	// Disown closes as lost every attempt that a process other than boot claimed on the
	// same node (on any, when node is ""), and gives its execution to the next claim. The
	// caller has proof that those processes are gone with all that they started. It
	// answers the attempts.
	Disown(ctx context.Context, boot, node string, now time.Time) ([]LiveAttempt, error)
	// LiveAttempts lists attempts that were claimed and neither settled nor released.
	LiveAttempts(ctx context.Context) ([]LiveAttempt, error)
	// Usage adds up the model requests that a query finds, over groups. Requests of
	// deleted sessions and agents count as well.
	Usage(ctx context.Context, q UsageQuery) (UsageSums, error)
	// PutArtifact records an artifact's row and its event in a running turn.
	PutArtifact(ctx context.Context, f Fence, row Row, event *eventv1.Event) error
	// EngineID is the id of the engine that this ledger's wake-ups went to; "" at first.
	EngineID(ctx context.Context) (string, error)
	SetEngineID(ctx context.Context, id string) error
	// SetTimer sets, moves or (with a zero time) removes a session's named timer. The
	// peek that finds it due consumes it, and lets the execution go on that waits for
	// that name.
	SetTimer(ctx context.Context, session, name string, due time.Time) error
}

// Fence proves who writes. A store refuses a write whose fence is not the
// execution's current one.
type Fence struct {
	Session    string
	Execution  string
	Attempt    string
	Generation int64
}

// NewSession is a session to store.
type NewSession struct {
	Row       Row    // of kind session
	Root      string // root of its tree; its own id without a parent
	Depth     int32
	Workspace string  // the folder that it writes in, cleaned and absolute; "" when it writes in none
	Budget    *Budget // its own, from its beginning; nil for none
	Reject    bool    // refuse inputs while a turn runs
	Events    []*eventv1.Event
}

// Accept is an input to make durable.
type Accept struct {
	New       *NewSession // nil for an existing session
	Session   string
	Input     Input
	Execution Row // of kind agent_execution, status queued
	Events    []*eventv1.Event
	Once      *Once
	Now       time.Time
}

// Input is what a person or program said.
type Input struct {
	ID   string
	Item *messagev1.Item // goes into the model's history when the input is delivered
}

// Work is what a peek found.
type Work struct {
	Revision  int64
	Execution string // the execution at the head; "" when there is none
	// State is what that execution needs: claim (queued, or to be continued),
	// interrupt (cancel requested), or "" when nothing is to do.
	State WorkState
	// Attempt is the live attempt that still owns the execution; "" when none does.
	Attempt LiveAttempt
	// Due is the session's next timer; zero when there is none.
	Due time.Time
}

// WorkState says what an execution needs.
type WorkState string

// The states.
const (
	WorkNone      WorkState = ""
	WorkClaim     WorkState = "claim"
	WorkInterrupt WorkState = "interrupt"
)

// LiveAttempt names an attempt that owns an execution.
type LiveAttempt struct {
	Fence
	BootEpoch string // the server process that claimed it
	Node      string // the server, over its restarts; "" when the store has one server alone
	Workflow  string // where the engine runs it
	Run       string
	Activity  string
}

// Claim is an attempt's wish to own an execution.
type Claim struct {
	Session   string
	Execution string
	Attempt   string
	BootEpoch string
	Node      string // of this server; "" when the store has one server alone
	Workflow  string
	Run       string
	Activity  string
	// Gone names the attempt that the claimer has proven to work no more; "" when
	// none was alive.
	Gone   string
	Policy *ledgerv1.ExecutionPolicy // kept by the first claim, ignored by later ones
	Now    time.Time
	Events func(Taken) []*eventv1.Event // turn.started, or turn.recovery.requested and what belongs to it
}

// Taken says how an execution came to the attempt that claims it.
type Taken struct {
	First  bool   // no attempt had it before
	Lost   int64  // the generation before this one; 0 when First
	Reason string // how that generation ended: attempt_lost, released or resumed
}

// Claimed is what the attempt works with.
type Claimed struct {
	Fence
	First     bool // no attempt had this execution before
	Policy    *ledgerv1.ExecutionPolicy
	Org       string
	Goal      Goal // of the session; its version is 0 when it has none
	History   []*messagev1.Item
	Shown     Shown         // of History
	Pending   []PendingTool // calls of the newest answer that have no result yet, in order
	Calls     int32         // model requests settled so far
	ToolCalls int32
	Usage     *messagev1.Usage // sum so far
	StartedAt time.Time
	HandedOff bool // the final-reply hand-off was made
	Cancelled bool // cancel was requested
	// Input is the id of the input that the execution answers.
	Input string
	// Recoveries are those that the turn made by itself since its last whole answer.
	Recoveries Recoveries
	// Redispatches counts attempts of one process that were lost one after the
	// other without progress; the end of a process does not count.
	Redispatches int32
}

// PendingTool is a call without a recorded result.
type PendingTool struct {
	Call     *messagev1.ToolCall
	Started  bool
	Class    string
	Mutation *ledgerv1.Mutation // nil when the tool registered none
}

// Dispatch is a model request about to leave.
type Dispatch struct {
	Number int32            // of the execution, from 1
	Hold   *messagev1.Usage // upper bound, booked when no answer is ever seen
	Model  string
	Member string   // the identity that gave the input; "" when it is not known
	Limits []Budget // bounds of this request beside the budgets that are kept, such as its execution's
	Events []*eventv1.Event
	Now    time.Time
}

// Response is a model's whole answer.
type Response struct {
	Number int32
	Item   *messagev1.Item
	Usage  *messagev1.Usage
	Events []*eventv1.Event
	Now    time.Time
}

// ToolStart registers a call.
type ToolStart struct {
	CallID   string
	Class    string
	Mutation *ledgerv1.Mutation
	Event    *eventv1.Event
}

// ToolFinish records a call's outcome.
type ToolFinish struct {
	CallID string
	Item   *messagev1.Item
	Event  *eventv1.Event
}

// Settlement ends an execution.
type Settlement struct {
	Phase        agentexecutionv1.ExecutionPhase // completed, failed, cancelled or waiting
	Error        *agentexecutionv1.ExecutionError
	SegmentLimit string
	WaitingFor   string          // what a waiting execution waits for; with Until, its timer's name
	Until        time.Time       // when a waiting execution goes on by itself; zero: only when somebody says so
	Item         *messagev1.Item // closes open calls in history; may be nil
	Recoveries   *Recoveries     // of a waiting execution that is tried again by itself: kept until the next whole answer; nil keeps what there is
	Events       func(Totals) []*eventv1.Event
	Pause        *GoalPause // pauses the session's active goal; nil leaves it as it is
	Now          time.Time
}

// Recoveries count how often a turn was tried again by itself. A whole answer of the
// model, or a person who lets the turn go on, sets them to nothing.
type Recoveries struct {
	Count     int32     // of all failures but overload
	Overloads int32     // of an overloaded provider
	Since     time.Time // the first of Overloads; zero without one
	Code      string    // the failure behind the newest one
}

// Totals are an execution's sums at its end.
type Totals struct {
	Usage        *messagev1.Usage
	Calls        int32
	ToolCalls    int32
	StartedAt    time.Time
	CancelReason string // what the one who asked for its end gave as the reason
}

// CancelRequest asks for the end of a session's work or of one execution.
type CancelRequest struct {
	Session   string
	Execution string // "" means all of the session
	Reason    string
	By        string
	// Found is called inside the transaction with what the request concerns, so
	// that the answer that Once keeps can hold it. May be nil.
	Found func(CancelAnswer) error
	Once  *Once
	Now   time.Time
}

// CancelAnswer tells whom a cancel concerns.
type CancelAnswer struct {
	Executions []Row
	Tell       []Fence
	Revision   int64
}

// RecoverRequest asks that an execution goes on.
type RecoverRequest struct {
	Session   string
	Execution string // "" means the session's waiting one, else its newest
	By        string
	Found     func(Row) error // as in CancelRequest, with the execution's row. May be nil
	Once      *Once
	Now       time.Time
}

// RecoverAnswer tells what goes on.
type RecoverAnswer struct {
	Execution Row
	Revision  int64
}

// ErrNotRecoverable: the execution neither waits nor failed, or is not the newest.
var ErrNotRecoverable = fault.New(fault.FailedPrecondition, "NOTHING_TO_RECOVER", "there is nothing to recover")

// EventQuery asks for a part of a log.
type EventQuery struct {
	Session  string // of this session, or of the tree whose root it is
	Tree     bool   // order by tree_seq
	After    int64
	Limit    int      // must be positive
	Types    []string // names, or families that end in `.*`; nil for all
	MaxDepth int32    // deepest level of a tree; negative for all
}

// SessionState is a session's ledger row.
type SessionState struct {
	ID        string
	Org       string
	Root      string
	Depth     int32
	Revision  int64
	LastSeq   int64
	TreeSeq   int64 // of the root
	Active    string
	Open      int // executions without an outcome
	Workspace string
	// Removed is the greatest number of an event that retention removed from the log,
	// RemovedTree the same in the order of the root's tree; 0 when it removed none.
	Removed     int64
	RemovedTree int64
}

// Nudge is a session to wake and the revision to wake it with.
type Nudge struct {
	Session  string
	Revision int64
}

// FoldersOverlap says whether one of two cleaned absolute paths is the other or lies in it.
func FoldersOverlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, strings.TrimSuffix(b, "/")+"/") || strings.HasPrefix(b, strings.TrimSuffix(a, "/")+"/")
}

// Held is the fault for a folder that another session works in.
func Held(folder, held, session string) *fault.Fault {
	overlap := ""
	if held != folder {
		overlap = ", which overlaps " + folder
	}
	return fault.New(fault.FailedPrecondition, "WORKSPACE_HELD",
		"session %s works in %s%s; wait until it is idle, or end it with `cadre cancel %s`", session, held, overlap, session).
		With("session", session).With("folder", held)
}
