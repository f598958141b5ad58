package runner

import (
	"context"
	"log/slog"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/turn"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Models opens models by name.
type Models interface {
	Open(ctx context.Context, name string) (model.Model, error)
	Fingerprint(ctx context.Context, name string) (string, error)
}

// Catalogue knows what models cost and can.
type Catalogue interface {
	Cost(model string, u *messagev1.Usage, now time.Time)
	Sees(model string) bool
	Window(model string) int64
}

// Limiter says when a request may go to a provider.
type Limiter interface {
	Enter(ctx context.Context, model, org string) (leave func(wait time.Duration), err error)
}

// World is the product's own Effects: the real store, models, tools and folders.
type World struct {
	Store     store.Store
	Models    Models
	Catalogue Catalogue
	Limiter   Limiter                                            // nil for no limits
	Record    func(m model.Model, name, path string) model.Model // of what it asks; used when a policy says so
	Tools     func(name string) (tool.Tool, bool)
	Open      func(folder string) (workspace.Workspace, error)
	Sandboxes *lane.Leases                                               // nil when tools work on this machine
	End       func(ctx context.Context, session, execution string) error // of processes; nil when none are started
	Artifact  artifact.Store
	Events    *eventlog.Log
	Clock     func() time.Time
	SlogTurns *slog.Logger
}

var _ turn.Effects = (*World)(nil)

// Ledger is the store.
func (w *World) Ledger() turn.Ledger { return w.Store }

// OpenModel opens the model that the policy names.
func (w *World) OpenModel(ctx context.Context, p *ledgerv1.ExecutionPolicy) (model.Model, error) {
	m, err := w.Models.Open(ctx, p.GetModel())
	if err != nil || p.GetRecord() == "" {
		return m, err
	}
	return w.Record(m, p.GetModel(), p.GetRecord()), nil
}

// Enter waits until a request may go.
func (w *World) Enter(ctx context.Context, name, org string) (func(time.Duration), error) {
	if w.Limiter == nil {
		return func(time.Duration) {}, nil
	}
	return w.Limiter.Enter(ctx, name, org)
}

// Cost fills in what a request cost.
func (w *World) Cost(name string, u *messagev1.Usage) { w.Catalogue.Cost(name, u, w.Clock()) }

// Window is how many tokens a model takes.
func (w *World) Window(name string) int64 { return w.Catalogue.Window(name) }

// Sees tells whether a model can be shown images.
func (w *World) Sees(name string) bool { return w.Catalogue.Sees(name) }

// Fingerprint identifies the definition behind a model's name now.
func (w *World) Fingerprint(ctx context.Context, name string) (string, error) {
	return w.Models.Fingerprint(ctx, name)
}

// Tool finds a tool by its name.
func (w *World) Tool(name string) (tool.Tool, bool) { return w.Tools(name) }

// OpenWorkspace opens a folder of this machine, or the one in the session's sandbox.
func (w *World) OpenWorkspace(ctx context.Context, p turn.Place) (workspace.Workspace, error) {
	switch {
	case !p.Sandbox:
		return w.Open(p.Folder)
	case w.Sandboxes == nil:
		return nil, errNoSandboxes
	}
	return w.Sandboxes.Open(ctx, lane.Use{Session: p.Session, Execution: p.Execution, Holder: p.Attempt, Prefetch: p.Prefetch, Tell: p.Tell})
}

// errNoSandboxes: the turn was begun where there were some.
var errNoSandboxes = fault.New(fault.FailedPrecondition, "SANDBOXES_OFF",
	"this turn began in a sandbox, and the server has none now: set %s again, or send the message anew", sandbox.EnvProvisioner)

// EndProcesses ends what the execution's tool calls started.
func (w *World) EndProcesses(ctx context.Context, session, execution string) error {
	if w.End != nil {
		if err := w.End(ctx, session, execution); err != nil {
			return err
		}
	}
	return w.Sandboxes.End(ctx, session, execution, false)
}

// Artifacts is the artifact store.
func (w *World) Artifacts() artifact.Store { return w.Artifact }

// Show hands text to whoever watches now.
func (w *World) Show(d *eventv1.EphemeralDelta) { w.Events.Show(d) }

// Now is the time.
func (w *World) Now() time.Time { return w.Clock() }

// Log is where turns log.
func (w *World) Log() *slog.Logger { return w.SlogTurns }
