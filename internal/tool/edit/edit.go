// Package edit is the tool that replaces an exact text in a file. Told apart by
// the digests of its Mutation, a repeated call has the same effect as one.
package edit

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

type editor struct{}

// New makes the tool, which is a tool.FileTool.
func New() tool.Tool { return editor{} }

// Spec describes the tool.
func (editor) Spec() tool.Spec {
	return tool.Spec{Name: "edit", Description: description, Schema: schema, Class: tool.Idempotent}
}

type arguments struct {
	Path       string `json:"path"`
	OldText    string `json:"old_text"`
	NewText    string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

// Run edits.
func (e editor) Run(ctx context.Context, env tool.Env, call tool.Call) (tool.Result, error) {
	return tool.RunFile(ctx, e, env, call)
}

// Prepare works out the change.
func (editor) Prepare(ctx context.Context, env tool.Env, call tool.Call) (*tool.Mutation, tool.Result, error) {
	var args arguments
	if r := args.read(call); r != nil {
		return nil, *r, nil
	}
	if r := tool.NeedWorkspace(env); r != nil {
		return nil, *r, nil
	}
	data, err := env.Workspace.Read(ctx, args.Path, tool.LargestFile)
	if err != nil {
		r, err := unreadable(ctx, env.Workspace, args.Path, err)
		return nil, r, err
	}
	if tool.IsBinary(data) {
		return nil, tool.Fail("%s is a binary file; only text can be edited.", args.Path), nil
	}
	after, told := apply(string(data), args)
	if told.IsError {
		return nil, told, nil
	}
	return tool.NewMutation(env.Workspace, call, tool.Change{
		Path: args.Path, Before: workspace.Sum(data), Data: []byte(after), Result: told,
	}), tool.Result{}, nil
}

// read decodes the arguments and checks what needs no file.
func (a *arguments) read(call tool.Call) *tool.Result {
	if r := tool.Decode(call, a); r != nil {
		return r
	}
	var r tool.Result
	switch {
	case a.OldText == "":
		r = tool.Fail("`old_text` must not be empty: give the text to replace. To write a whole file use write.")
	case a.OldText == a.NewText:
		r = tool.Fail("`new_text` is the same as `old_text`: there is nothing to change.")
	default:
		return nil
	}
	return &r
}

func unreadable(ctx context.Context, ws workspace.Workspace, path string, err error) (tool.Result, error) {
	switch {
	case errors.Is(err, workspace.ErrIsFolder):
		return tool.Fail("%s is a folder. Name a file in it.", path), nil
	case errors.Is(err, workspace.ErrNotFound):
		r, err := tool.Refused(ctx, ws, path, err)
		r.Text += " To make a new file use write."
		return r, err
	}
	return tool.Refused(ctx, ws, path, err)
}

// apply gives the new content, or a Result with IsError.
func apply(text string, a arguments) (string, tool.Result) {
	if n := strings.Count(text, "\n"); n > 0 && n == strings.Count(text, "\r\n") {
		a.OldText, a.NewText = toCRLF(a.OldText), toCRLF(a.NewText)
	}
	found := places(text, a.OldText)
	switch {
	case len(found) == 0:
		return "", missing(text, a)
	case len(found) > 1 && !a.ReplaceAll:
		return "", tool.Fail("`old_text` stands %d times in %s, in %s. Add the lines around the right one to make it unique, or set `replace_all`.",
			len(found), a.Path, lineList(text, found))
	case a.ReplaceAll:
		return all(text, a, found)
	}
	after := text[:found[0]] + a.NewText + text[found[0]+len(a.OldText):]
	first := lineAt(text, found[0])
	return after, tool.Result{
		Text:    fmt.Sprintf("Edited %s at line %d. It reads now:\n%s", a.Path, first, snippet(after, first, strings.Count(a.NewText, "\n"))),
		Summary: "1 replacement",
	}
}

// all replaces every occurrence.
func all(text string, a arguments, found []int) (string, tool.Result) {
	n := strings.Count(text, a.OldText)
	if size := len(text) + n*(len(a.NewText)-len(a.OldText)); size > tool.LargestFile {
		return "", tool.Fail("%d replacements would make %s %d bytes large, more than %d.", n, a.Path, size, tool.LargestFile)
	}
	many := tool.Count(n, "replacement", "replacements")
	return strings.ReplaceAll(text, a.OldText, a.NewText),
		tool.Result{Text: fmt.Sprintf("Edited %s: %s, in %s.", a.Path, many, lineList(text, found)), Summary: many}
}

// toCRLF gives a text the line ends of the file that it is for.
func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}
