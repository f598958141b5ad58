package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

// proofTime bounds how long a start waits for the end of what a dead predecessor's
// commands left alive.
const proofTime = 15 * time.Second

// endTime bounds how long a call waits for the end of processes.
const endTime = 5 * time.Second

// openProcesses ends what a dead predecessor's commands left alive, before any
// turn is claimed, and makes ready to start commands.
func (a *App) openProcesses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	forest, err := proctree.Open(ctx, proctree.Options{Dir: filepath.Join(a.opt.DataDir, "processes"), Boot: a.boot, Log: a.log})
	if errors.Is(err, proctree.ErrAlive) {
		return fault.New(fault.FailedPrecondition, "PROCESSES_ALIVE",
			"commands of the server before are still alive and do not end: %v. No turn goes on before they are gone; end them, or restart the machine", err).Because(err)
	}
	if err != nil {
		return fault.New(fault.FailedPrecondition, "PROCESSES_UNUSABLE", "commands cannot be started: %v", err).Because(err)
	}
	a.log.InfoContext(ctx, "commands run as process trees", "mode", string(forest.Mode()), "why", forest.Reason())
	a.onClose("processes", forest.Close)
	a.host = local.NewHost(forest)
	return nil
}

// processes ends what tool calls started, for verbs.
type processes struct {
	host  *local.Host
	boxes *lane.Leases
	log   *slog.Logger
}

// End ends the processes of an execution, or of the whole session.
func (p processes) End(ctx context.Context, session, execution string) {
	p.bounded(ctx, session, func(ctx context.Context) error {
		return errors.Join(p.host.End(ctx, session, execution), p.boxes.End(ctx, session, execution, false))
	})
}

// Forget ends the processes of a deleted session. Its sandbox, if it has one, is removed as a
// whole.
func (p processes) Forget(ctx context.Context, session string) {
	p.bounded(ctx, session, func(ctx context.Context) error { return p.host.Forget(ctx, session) })
}

func (p processes) bounded(ctx context.Context, session string, end func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if err := end(ctx); err != nil {
		p.log.ErrorContext(ctx, "processes are still alive", "session", session, "error", err)
	}
}
