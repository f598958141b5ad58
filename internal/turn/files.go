package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// prepareFiles works out a call that changes several files. Of a call that an
// earlier attempt had begun, only the files that it had not changed are left.
func (t *turn) prepareFiles(ctx context.Context, c *call, files tool.FilesTool, env tool.Env, start *store.ToolStart) (work, error) {
	made := map[string]bool{}
	if c.Started && c.Mutation != nil {
		for _, m := range eachFile(c.Mutation) {
			now, err := env.Workspace.Digest(ctx, m.GetPath())
			if err != nil {
				return work{}, err
			}
			made[m.GetPath()] = now == m.GetAfter()
		}
	}
	all, refused, err := files.PrepareAll(ctx, env, c.input(), func(path string) bool { return made[tool.Rel(env.Workspace, path)] })
	if err != nil {
		return work{}, err
	}
	if len(all) == 0 {
		return work{start: start, run: func(context.Context) (outcome, error) { return outcome{result: refused}, nil }}, nil
	}
	result := all[0].Result
	if len(made) > 0 {
		start.Mutation = c.Mutation // as the first attempt registered it
		result = tool.Result{Text: c.Mutation.GetResult(), Summary: c.Mutation.GetSummary()}
	} else {
		start.Mutation = registered(all)
	}
	return work{start: start, run: func(ctx context.Context) (outcome, error) { return commitAll(ctx, env.Workspace, all, result) }}, nil
}

// registered is what the ledger keeps of prepared changes.
func registered(all []*tool.Mutation) *ledgerv1.Mutation {
	var first *ledgerv1.Mutation
	for i, m := range all {
		r := &ledgerv1.Mutation{Path: m.Path, Before: m.Before, After: m.After}
		if i == 0 {
			r.Result, r.Summary = m.Result.Text, m.Result.Summary
			first = r
			continue
		}
		first.More = append(first.More, r)
	}
	return first
}

// eachFile is a registered change, file by file.
func eachFile(m *ledgerv1.Mutation) []*ledgerv1.Mutation {
	return append([]*ledgerv1.Mutation{m}, m.GetMore()...)
}

// commitAll makes prepared changes one after the other. When somebody else changed
// one of the files meanwhile, the model learns which ones were changed and which not.
func commitAll(ctx context.Context, ws workspace.Workspace, all []*tool.Mutation, result tool.Result) (outcome, error) {
	var made []string
	for _, m := range all {
		o, err := commit(ctx, ws, m)
		if err != nil {
			return o, err
		}
		if o.result.IsError {
			if len(made) > 0 {
				o.result.Text += " These files were changed before and stay so: " + strings.Join(made, ", ") + "."
			}
			return o, nil
		}
		made = append(made, m.Path)
	}
	return outcome{result: result}, nil
}

// condition is how the files of a registered change are found after a crash.
type condition int

const (
	wasUnmade  condition = iota // none was changed
	wasPartly                   // some were
	wasMade                     // all were
	wasForeign                  // one is neither as it was nor as it was to become
)

// condition looks at every file of a registered change, and removes what a write that
// was cut off left beside it.
func (t *turn) condition(ctx context.Context, c *call, ws workspace.Workspace) (condition, error) {
	after, all := 0, eachFile(c.Mutation)
	for _, m := range all {
		if err := ws.Tidy(ctx, m.GetPath(), c.id()); err != nil {
			return 0, err
		}
		now, err := ws.Digest(ctx, m.GetPath())
		switch {
		case err != nil:
			return 0, err
		case now == m.GetAfter():
			after++
		case now != m.GetBefore():
			return wasForeign, nil
		}
	}
	switch after {
	case 0:
		return wasUnmade, nil
	case len(all):
		return wasMade, nil
	}
	return wasPartly, nil
}

// interrupted is the outcome of a file change that the end of the turn cut off.
func (t *turn) interrupted(ctx context.Context, c *call) (outcome, error) {
	o := outcome{result: tool.Fail("This change was not made: the turn ended before.")}
	if len(c.Mutation.GetMore()) == 0 {
		return o, nil
	}
	env, err := t.env(ctx, c)
	if err != nil || env.Workspace == nil {
		return o, errors.Join(err, errNoFolder(env.Workspace))
	}
	var done, left []string
	for _, m := range eachFile(c.Mutation) {
		now, err := env.Workspace.Digest(ctx, m.GetPath())
		switch {
		case err != nil:
			return o, err
		case now == m.GetAfter():
			done = append(done, m.GetPath())
		default:
			left = append(left, m.GetPath())
		}
	}
	if len(done) > 0 {
		o.result.Text = fmt.Sprintf("The turn ended in the middle of this change. Changed: %s. Not changed: %s.", strings.Join(done, ", "), strings.Join(left, ", "))
	}
	return o, nil
}

func errNoFolder(ws workspace.Workspace) error {
	if ws == nil {
		return errors.New("the session has no workspace any more")
	}
	return nil
}

// startEvent says that a call begins.
func (t *turn) startEvent(c *call, class tool.Class) *eventv1.Event {
	return t.event(&eventv1.AgentToolStarted{CallId: c.id(), Name: c.Call.GetName(), Class: string(class)})
}
