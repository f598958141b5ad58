package turn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

const unknownText = "It is not known whether this call took effect: the attempt that ran it ended before its outcome was recorded. It is not run again by itself."

// resume decides what becomes of a call that an earlier attempt had started.
// A file change tells by its digests whether it happened; a call that may run
// again does; nothing is known of any other.
func (t *turn) resume(ctx context.Context, c *call) (w work, decided bool, err error) {
	if c.Mutation == nil {
		if tool.Class(c.Class) == tool.Unsafe {
			return done(outcome{unknown: true}), true, nil
		}
		return work{}, false, nil
	}
	env, err := t.env(ctx, c)
	if err != nil {
		return work{}, false, err
	}
	if env.Workspace == nil {
		return done(outcome{unknown: true}), true, nil
	}
	found, err := t.condition(ctx, c, env.Workspace)
	switch {
	case err != nil:
		return work{}, false, err
	case found == wasMade:
		return done(outcome{recovered: true, result: tool.Result{Text: c.Mutation.GetResult(), Summary: c.Mutation.GetSummary()}}), true, nil
	case found == wasForeign:
		return done(outcome{unknown: true}), true, nil
	}
	return work{}, false, nil // it is made now, or what is left of it
}

// settleFiles finds out what became of file changes that the end of the turn
// interrupted, so that the log tells it. What it cannot tell stays unknown.
func (t *turn) settleFiles(ctx context.Context) {
	for _, c := range t.openCalls() {
		if c.recorded || !c.Started || c.Mutation == nil {
			continue
		}
		var o outcome
		w, decided, err := t.resume(ctx, c)
		switch {
		case err == nil && decided:
			o, err = w.run(ctx)
		case err == nil:
			o, err = t.interrupted(ctx, c)
		}
		if err == nil && !o.unknown {
			_, err = t.record(ctx, []*call{c}, []outcome{o})
		}
		if err != nil {
			t.fx.Log().WarnContext(ctx, "what became of a file's change is not known", "execution", t.claim.Execution, "call", c.id(), "error", err)
		}
	}
}

// commit makes a prepared file change. A file that somebody else changed
// meanwhile is a result that the model can act on.
func commit(ctx context.Context, ws workspace.Workspace, m *tool.Mutation) (outcome, error) {
	err := m.Commit(ctx)
	if errors.Is(err, workspace.ErrChanged) {
		return outcome{result: tool.Result{IsError: true, Text: fmt.Sprintf("%s changed while this edit was prepared and was left as it is. Read it again.", m.Path)}}, nil
	}
	if err != nil {
		// What the model can mend is a result; whether the rest was made, the file tells.
		r, err := tool.Refused(ctx, ws, m.Path, err)
		return outcome{result: r}, err
	}
	return outcome{result: m.Result}, nil
}

// guard keeps a faulty tool from taking the process with it.
func guard(ctx context.Context, run func(context.Context) (outcome, error)) (o outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "TOOL_PANICKED", "a tool failed inside").Because(fmt.Errorf("%v\n%s", p, debug.Stack()))
		}
	}()
	failpoint.Hit("tool.before")
	o, err = run(ctx)
	failpoint.Hit("tool.after")
	return o, err
}
