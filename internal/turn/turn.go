// Package turn is the engine of one agent execution: it asks the model, runs
// tools, streams what happens and settles. It takes no clock, store or network
// of its own; everything arrives through Effects, so that the same code serves
// the runner, tests and replay.
//
// Promise: each claimed attempt either settles the execution exactly once (as ended, or
// as waiting for a person or for a time), gives it back (Release), or finds that it is
// fenced and writes nothing more. A tool call is registered before it takes effect and
// recorded before the model's next step; one that completed never runs again. A model
// request that failed for a reason that passes is made again by a later attempt of the
// same execution; what was shown of its answer is dropped.
package turn

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Ledger is the part of the store that a running turn writes to. Every call is
// fenced.
type Ledger interface {
	Append(ctx context.Context, f store.Fence, events []*eventv1.Event) error
	Dispatch(ctx context.Context, f store.Fence, d store.Dispatch) error
	Respond(ctx context.Context, f store.Fence, r store.Response) error
	StartTools(ctx context.Context, f store.Fence, starts []store.ToolStart) error
	UnstartTools(ctx context.Context, f store.Fence, calls []string) error
	FinishTools(ctx context.Context, f store.Fence, results []store.ToolFinish) error
	AddItem(ctx context.Context, f store.Fence, item *messagev1.Item, handOff bool) error
	Compact(ctx context.Context, f store.Fence, c store.Compaction) error
	CompleteGoal(ctx context.Context, f store.Fence, version int64, evidence string, now time.Time) (bool, error)
	PutArtifact(ctx context.Context, f store.Fence, row store.Row, event *eventv1.Event) error
	Settle(ctx context.Context, f store.Fence, s store.Settlement) error
	Release(ctx context.Context, f store.Fence, reason string, now time.Time) error
	Cancelling(ctx context.Context, f store.Fence, unconfirmed []string, now time.Time) error
}

// Effects is the world as a turn sees it.
type Effects interface {
	Ledger() Ledger
	// OpenModel opens the model that the policy names, recording what it asks where
	// the policy says so.
	OpenModel(ctx context.Context, p *ledgerv1.ExecutionPolicy) (model.Model, error)
	// Enter waits until a request of the organization to the model may go. The request
	// calls leave when it is over, with how long the provider asks all to wait, 0 for not.
	Enter(ctx context.Context, model, org string) (leave func(wait time.Duration), err error)
	// Cost fills in what one request to a model cost, by the prices of now.
	Cost(model string, u *messagev1.Usage)
	// Window is how many tokens a model takes, input and output together; 0 when it is unknown.
	Window(model string) int64
	// Sees tells whether a model can be shown images.
	Sees(model string) bool
	// Fingerprint identifies the definition behind a model's name now.
	Fingerprint(ctx context.Context, name string) (string, error)
	// Tool finds a tool by its name.
	Tool(name string) (tool.Tool, bool)
	// OpenWorkspace opens the folder that the policy names. A sandbox may have to be started
	// for it; what passes by itself is a workspace.StartUnavailable then.
	OpenWorkspace(ctx context.Context, p Place) (workspace.Workspace, error)
	// EndProcesses ends what the execution's tool calls started and returns when it
	// is proven gone. An error names what is alive when ctx ends.
	EndProcesses(ctx context.Context, session, execution string) error
	Artifacts() artifact.Store
	// Show hands a piece of text to whoever watches now. It must not block.
	Show(*eventv1.EphemeralDelta)
	Now() time.Time
	Log() *slog.Logger
}

// Options bound a turn. The zero value means the defaults.
type Options struct {
	DeltaEvery  time.Duration // longest wait before text becomes durable. Default 50 ms
	DeltaBytes  int           // most text that waits. Default 4096
	StreamIdle  time.Duration // time without a byte of a model's answer that ends its stream. Default 5 min
	ContentIdle time.Duration // time without content of it that does. Default 10 min
	InlineBytes int           // largest result that goes into history whole. Default 64 KiB
	Parallel    int           // read-only calls that run at once. Default 8
	Patience    time.Duration // how long outcomes are tried to be recorded while the store fails. Default 1 min
	Recovery    Recovery      // how often a turn is tried again by itself
}

func (o Options) withDefaults() Options {
	if o.DeltaEvery == 0 {
		o.DeltaEvery = 50 * time.Millisecond
	}
	if o.DeltaBytes == 0 {
		o.DeltaBytes = 4096
	}
	if o.StreamIdle == 0 {
		o.StreamIdle = 5 * time.Minute
	}
	if o.ContentIdle == 0 {
		o.ContentIdle = 10 * time.Minute
	}
	if o.InlineBytes == 0 {
		o.InlineBytes = 64 << 10
	}
	if o.Parallel == 0 {
		o.Parallel = 8
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	o.Recovery = o.Recovery.withDefaults()
	return o
}

// ErrCancelled is the cause with which a turn's context ends when somebody asked
// for its end.
var ErrCancelled = fault.New(fault.Canceled, "CANCELLED", "the turn was cancelled")

// turn is the state of one attempt.
type turn struct {
	fx      Effects
	opt     Options
	claim   store.Claimed
	gate    *Gate
	model   model.Model
	tools   map[string]tool.Tool
	specs   []model.ToolSpec
	folder  workspace.Workspace // opened by the first tool that needs it
	early   *prefetched         // that was opened beside a model request; nil when none was
	fetched bool                // a prefetch was begun in this attempt
	brought bool                // attached files were put into the sandbox, or were tried to be
	notes   []string            // for the model, with the next result of a tool
	history []*messagev1.Item
	shown   shown // of the history, as the model sees it
	pending []store.PendingTool
	open    []*call     // calls made of pending, nil until they are
	unknown *call       // whose outcome nobody knows; the turn is about to wait for a person
	calls   int32       // dispatches that were made, settled or not
	tooled  bool        // a tool ran in this execution
	reached bool        // the session's goal was completed in this attempt
	sent    atomic.Bool // bytes of the newest request left
	spoke   bool        // the answer that streams now, or did last, began
	ready   bool        // the set-up is over
	ended   bool
}

// step is one phase of the loop. It answers the next one, nil at the end.
type step func(context.Context) (step, error)

// Run executes a claimed attempt until it is settled, given back or fenced. The
// answer is nil when the ledger holds the outcome of this attempt; any other
// answer means that the execution is still open.
func Run(ctx context.Context, fx Effects, claim store.Claimed, opt Options) error {
	t := &turn{fx: fx, opt: opt.withDefaults(), claim: claim, history: claim.History, pending: claim.Pending, calls: claim.Calls, tooled: claim.ToolCalls > 0}
	t.gate = NewGate(ctx, t.admit)
	defer t.close(ctx)
	var err error
	for next := step(t.govern); next != nil && err == nil; {
		if err = context.Cause(ctx); err == nil {
			next, err = next(ctx)
		}
	}
	if err == nil {
		return nil
	}
	return t.fail(ctx, err)
}

func (t *turn) close(ctx context.Context) {
	if err := t.gate.Close(); err != nil {
		t.fx.Log().DebugContext(ctx, "model stream closed with an unsettled response", "error", err)
	}
	t.closePlace(ctx)
}

// decide looks at the history and says what comes next. It is a pure function
// of what is durable, so that a recovered attempt goes on where the last one ended.
func (t *turn) decide(context.Context) (step, error) {
	if len(t.pending) > 0 {
		return t.runTools, nil
	}
	if n := len(t.history); n > 0 {
		if answer := t.history[n-1].GetAssistant(); answer != nil {
			return t.finish, nil
		}
	}
	return t.fit, nil
}

// fail ends an attempt that met an error, in the way that its cause asks for.
func (t *turn) fail(ctx context.Context, err error) error {
	settle := context.WithoutCancel(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, store.ErrFenced) {
		err = cause
	}
	var limit *limitReached
	var budget *store.Exhausted
	switch {
	case errors.Is(err, store.ErrFenced):
		return nil // another attempt owns the turn; nothing more is ours to write
	case errors.Is(err, ErrCancelled):
		return t.settleCancelled(settle)
	case errors.Is(err, engine.ErrStopping):
		return t.release(settle, "server_stopping")
	case errors.As(err, &limit):
		return t.settleCompleted(settle, limit.name)
	case errors.As(err, &budget):
		return t.settleExhausted(settle, budget)
	case isOurs(err):
		return err // the store or the engine failed, not the turn: it is tried again
	case ctx.Err() != nil:
		return t.release(settle, "interrupted")
	}
	return t.failed(settle, err)
}

// isOurs says whether the platform failed and not the turn.
func isOurs(err error) bool {
	switch fault.ReasonOf(err) {
	case "STORE_WRITE_FAILED", "STORE_READ_FAILED", "STORE_CLOSED", "ARTIFACT_STORE_FULL", "ARTIFACT_STORE_FAILED":
		return true
	}
	return false
}

func (t *turn) release(ctx context.Context, reason string) error {
	t.leavePlace()
	err := t.fx.Ledger().Release(ctx, t.claim.Fence, reason, t.fx.Now())
	if errors.Is(err, store.ErrFenced) {
		return nil
	}
	return err
}

func (t *turn) settle(ctx context.Context, s store.Settlement) error {
	t.leavePlace()
	s.Now = t.fx.Now()
	err := t.fx.Ledger().Settle(ctx, t.claim.Fence, s)
	t.ended = err == nil
	if errors.Is(err, store.ErrFenced) {
		return nil
	}
	return err
}
