// Package write is the tool that gives a file new content as a whole. A repeated
// call has the same effect as one.
package write

import (
	"context"
	_ "embed" // for the texts beside this file
	"errors"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

type writer struct{}

// New makes the tool, which is a tool.FileTool.
func New() tool.Tool { return writer{} }

// Spec describes the tool.
func (writer) Spec() tool.Spec {
	return tool.Spec{Name: "write", Description: description, Schema: schema, Class: tool.Idempotent}
}

type arguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Run writes.
func (w writer) Run(ctx context.Context, env tool.Env, call tool.Call) (tool.Result, error) {
	return tool.RunFile(ctx, w, env, call)
}

// Prepare works out the change.
func (writer) Prepare(ctx context.Context, env tool.Env, call tool.Call) (*tool.Mutation, tool.Result, error) {
	var args arguments
	if r := tool.Decode(call, &args); r != nil {
		return nil, *r, nil
	}
	if r := tool.NeedWorkspace(env); r != nil {
		return nil, *r, nil
	}
	before, err := env.Workspace.Digest(ctx, args.Path)
	if errors.Is(err, workspace.ErrIsFolder) {
		return nil, tool.Fail("%s is a folder. Name a file in it.", args.Path), nil
	}
	if err != nil {
		r, err := tool.Refused(ctx, env.Workspace, args.Path, err)
		return nil, r, err
	}
	return tool.NewMutation(env.Workspace, call, tool.Change{
		Path: args.Path, Before: before, Data: []byte(args.Content), Result: told(args, before),
	}), tool.Result{}, nil
}

// told is what the model reads after the change.
func told(args arguments, before string) tool.Result {
	size := tool.Count(len(tool.Lines(args.Content)), "line", "lines")
	did := "Wrote over"
	switch {
	case before == workspace.Absent:
		did = "Created"
	case before == workspace.Sum([]byte(args.Content)):
		did = "Nothing to change: the same content was already in"
	}
	text := fmt.Sprintf("%s %s (%s, %s).", did, args.Path, size, tool.Count(len(args.Content), "byte", "bytes"))
	if args.Content != "" && !strings.HasSuffix(args.Content, "\n") {
		text += " Its last line has no line end."
	}
	return tool.Result{Text: text, Summary: size}
}
