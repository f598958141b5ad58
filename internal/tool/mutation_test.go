package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// several is a FilesTool of prepared mutations.
type several struct {
	tool.Tool
	all []*tool.Mutation
}

func (s several) PrepareAll(context.Context, tool.Env, tool.Call, func(string) bool) ([]*tool.Mutation, tool.Result, error) {
	return s.all, tool.Result{Text: "nothing left to do"}, nil
}

// mutation is one whose Commit ends with err.
func mutation(path string, err error) *tool.Mutation {
	return &tool.Mutation{Path: path, Result: tool.Result{Text: "all done"}, Commit: func(context.Context) error { return err }}
}

func TestRunFiles(t *testing.T) {
	t.Parallel()
	changed := workspace.ErrChanged.Saying("b changed since it was read: read it again")
	for _, c := range []struct {
		all     []*tool.Mutation
		want    string
		isError bool
	}{
		{nil, "nothing left to do", false},
		{[]*tool.Mutation{mutation("a", nil), mutation("b", nil)}, "all done", false},
		{[]*tool.Mutation{mutation("a", nil), mutation("b", changed), mutation("c", nil)}, "b changed since it was read: read it again. Changed before that: a. Not changed: b and c.", true},
		{[]*tool.Mutation{mutation("b", changed), mutation("c", nil)}, "Changed before that: nothing. Not changed: b and c.", true},
		{[]*tool.Mutation{mutation("b", changed)}, "b changed since it was read: read it again.", true},
	} {
		r, err := tool.RunFiles(t.Context(), several{all: c.all}, tool.Env{}, tool.Call{ID: "c"})
		if err != nil || r.IsError != c.isError || !strings.HasSuffix(r.Text, c.want) {
			t.Errorf("RunFiles of %d = %+v, %v, want %q", len(c.all), r, err, c.want)
		}
	}
	if r, err := tool.RunFiles(t.Context(), several{all: []*tool.Mutation{mutation("a", workspace.ErrFailed)}}, tool.Env{}, tool.Call{}); !errors.Is(err, workspace.ErrFailed) {
		t.Errorf("a workspace that is gone gives %+v, %v", r, err)
	}
}
