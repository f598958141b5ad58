package turn

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Place is where the tools of an attempt work.
type Place struct {
	Folder    string // that the policy names
	Sandbox   bool   // it lies in the session's sandbox
	Session   string
	Execution string
	Attempt   string
	Prefetch  bool                // nobody waits for it
	Tell      func(proto.Message) // adds what became of the sandbox to the log; never nil
}

// prefetched is a place that is opened beside a model request.
type prefetched struct {
	cancel context.CancelFunc
	done   chan struct{}
	folder workspace.Workspace
	err    error
}

func (t *turn) place(ctx context.Context, prefetch bool) Place {
	p := t.claim.Policy
	return Place{
		Folder: p.GetWorkspace(), Sandbox: p.GetSandbox(), Prefetch: prefetch,
		Session: t.claim.Session, Execution: t.claim.Execution, Attempt: t.claim.Attempt,
		Tell: func(m proto.Message) {
			// It is told to people who watch: the turn does not depend on it.
			if err := t.fx.Ledger().Append(context.WithoutCancel(ctx), t.claim.Fence, []*eventv1.Event{t.event(m)}); err != nil {
				t.fx.Log().WarnContext(ctx, "what became of a sandbox is not in the log", "execution", t.claim.Execution, "error", err)
			}
		},
	}
}

// prefetch begins to open the sandbox beside the first model request of an attempt, where a
// tool may need it. The request never waits for it.
func (t *turn) prefetch(ctx context.Context) {
	if t.folder != nil || t.fetched || !t.claim.Policy.GetSandbox() || !t.needsPlace() {
		return
	}
	t.fetched = true
	ctx, cancel := context.WithCancel(ctx)
	p := &prefetched{cancel: cancel, done: make(chan struct{})}
	t.early = p
	go func() {
		defer close(p.done)
		p.folder, p.err = t.fx.OpenWorkspace(ctx, t.place(ctx, true))
	}()
}

// needsPlace tells whether the agent has a tool that works on files.
func (t *turn) needsPlace() bool {
	for _, found := range t.tools {
		if !found.Spec().NoFiles {
			return true
		}
	}
	return false
}

// openPlace opens the folder, once; nil when the turn has none. What a prefetch failed at is
// tried again: only now somebody needs it.
func (t *turn) openPlace(ctx context.Context) (workspace.Workspace, error) {
	if t.folder != nil || t.claim.Policy.GetWorkspace() == "" {
		return t.folder, nil
	}
	if p := t.early; p != nil {
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		t.folder = p.folder
	}
	if t.folder == nil {
		var err error
		if t.folder, err = t.fx.OpenWorkspace(ctx, t.place(ctx, false)); err != nil {
			return nil, err
		}
	}
	return t.folder, t.bring(ctx)
}

// leavePlace ends a prefetch that nobody waits for any more. Nothing is told of it afterwards.
func (t *turn) leavePlace() {
	if t.early != nil {
		t.early.cancel()
		<-t.early.done
	}
}

// closePlace lets go of the folder, however it was opened.
func (t *turn) closePlace(ctx context.Context) {
	t.leavePlace()
	if t.folder == nil && t.early != nil {
		t.folder = t.early.folder
	}
	if t.folder == nil {
		return
	}
	if err := t.folder.Close(); err != nil {
		t.fx.Log().WarnContext(ctx, "workspace did not close", "error", err)
	}
}

// notBegun tells whether an error proves that a command did not start.
func notBegun(err error) bool {
	var unsent *workspace.StartUnavailable
	var unknown *workspace.StartUnknown
	var route *workspace.RouteUnknown
	return errors.As(err, &unsent) && !errors.As(err, &unknown) && !errors.As(err, &route)
}

// takeBack has calls count as not begun of which that is proven, so that the next attempt
// makes them.
func (t *turn) takeBack(ctx context.Context, batch []*call, cause error) error {
	if !notBegun(cause) {
		return nil
	}
	var ids []string
	for _, c := range batch {
		if c.Started && !c.recorded {
			ids = append(ids, c.id())
			c.Started, c.Class, c.Mutation = false, "", nil
		}
	}
	return t.patiently(ctx, func(ctx context.Context) error { return t.fx.Ledger().UnstartTools(ctx, t.claim.Fence, ids) })
}
