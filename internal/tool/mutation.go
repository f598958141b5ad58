package tool

import (
	"context"
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Change is the new content of one file, or its end.
type Change struct {
	Path   string
	Before string // digest of what was read, or workspace.Absent; never ""
	Data   []byte // kept until the Mutation is dropped; do not change it
	Remove bool   // the file goes; Data is not looked at, and After is workspace.Absent
	Result Result // what the model is told once it is done
}

// NewMutation prepares a Change. Its Commit replaces the file if it still is as
// it was read; when it already has the new content, that is no error, so a
// repeated Commit is safe. Any other content is workspace.ErrChanged.
func NewMutation(ws workspace.Workspace, call Call, c Change) *Mutation {
	m := &Mutation{Path: Rel(ws, c.Path), Before: c.Before, After: workspace.Sum(c.Data), Result: c.Result}
	if c.Remove {
		m.After = workspace.Absent
	}
	m.Commit = func(ctx context.Context) error {
		err := ws.Replace(ctx, workspace.Replacement{Path: m.Path, Data: c.Data, Before: m.Before, Remove: c.Remove, Token: call.ID})
		if !errors.Is(err, workspace.ErrChanged) {
			return err
		}
		if now, e := ws.Digest(ctx, m.Path); e == nil && now == m.After {
			return nil
		}
		return err
	}
	return m
}

// RunFile is the Run of a FileTool: Prepare, then Commit.
func RunFile(ctx context.Context, t FileTool, env Env, call Call) (Result, error) {
	m, r, err := t.Prepare(ctx, env, call)
	if m == nil || err != nil {
		return r, err
	}
	if err := m.Commit(ctx); err != nil {
		return Refused(ctx, env.Workspace, m.Path, err)
	}
	return m.Result, nil
}

// RunFiles is the Run of a FilesTool: PrepareAll, then each Commit in order. When one
// cannot be made, the Result says what was changed before it and what was not.
func RunFiles(ctx context.Context, t FilesTool, env Env, call Call) (Result, error) {
	all, r, err := t.PrepareAll(ctx, env, call, func(string) bool { return false })
	if len(all) == 0 || err != nil {
		return r, err
	}
	for i, m := range all {
		if err := m.Commit(ctx); err != nil {
			r, err := Refused(ctx, env.Workspace, m.Path, err)
			if err == nil && len(all) > 1 {
				r.Text += fmt.Sprintf(" Changed before that: %s. Not changed: %s.", paths(all[:i]), paths(all[i:]))
			}
			return r, err
		}
	}
	return all[0].Result, nil
}

func paths(all []*Mutation) string {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.Path
	}
	return near.List(names)
}
