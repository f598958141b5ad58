package tool

import (
	"context"
	"errors"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// Change is the new content of one file.
type Change struct {
	Path   string
	Before string // digest of what was read, or workspace.Absent; never ""
	Data   []byte // kept until the Mutation is dropped; do not change it
	Result Result // what the model is told once it is done
}

// NewMutation prepares a Change. Its Commit replaces the file if it still is as
// it was read; when it already has the new content, that is no error, so a
// repeated Commit is safe. Any other content is workspace.ErrChanged.
func NewMutation(ws workspace.Workspace, call Call, c Change) *Mutation {
	m := &Mutation{Path: Rel(ws, c.Path), Before: c.Before, After: workspace.Sum(c.Data), Result: c.Result}
	m.Commit = func(ctx context.Context) error {
		err := ws.Replace(ctx, workspace.Replacement{Path: m.Path, Data: c.Data, Before: m.Before, Token: call.ID})
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
