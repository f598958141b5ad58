// Package read is the tool that shows a file's lines to the model, or the image that it
// holds. It changes nothing and may run in parallel and again. That an image can be
// decoded is not promised: its head alone is looked at.
package read

import (
	"context"
	_ "embed" // for the texts beside this file
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

const (
	mostLines    = 2000 // in one answer
	mostLineSize = 2000 // characters of one line
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

type reader struct{}

// New makes the tool.
func New() tool.Tool { return reader{} }

// Spec describes the tool.
func (reader) Spec() tool.Spec {
	return tool.Spec{Name: "read", Description: description, Schema: schema, Class: tool.ReadOnly}
}

type arguments struct {
	Path   string `json:"path"`
	Offset *int   `json:"offset,omitempty"`
	Limit  *int   `json:"limit,omitempty"`
}

// Run reads.
func (reader) Run(ctx context.Context, env tool.Env, call tool.Call) (tool.Result, error) {
	var args arguments
	if r := tool.Decode(call, &args); r != nil {
		return *r, nil
	}
	first, limit, r := args.bounds()
	if r != nil {
		return *r, nil
	}
	if r := tool.NeedWorkspace(env); r != nil {
		return *r, nil
	}
	data, err := env.Workspace.Read(ctx, args.Path, tool.LargestFile)
	switch {
	case errors.Is(err, workspace.ErrIsFolder):
		return tool.Fail("%s is a folder. Use list to see what is in it.", args.Path), nil
	case errors.Is(err, workspace.ErrTooLarge):
		r, err := tool.Refused(ctx, env.Workspace, args.Path, err)
		r.Text += " Use grep to find the lines you need."
		return r, err
	case err != nil:
		return tool.Refused(ctx, env.Workspace, args.Path, err)
	case tool.IsBinary(data):
		return binary(args.Path, data), nil
	}
	return show(args.Path, string(data), first, limit), nil
}

// binary shows an image, by its content, and refuses anything else.
func binary(name string, data []byte) tool.Result {
	i, ok := tool.ImageOf(data)
	if !ok {
		return tool.Fail("%s is a binary file of %s; only text and images can be read.", name, tool.Count(len(data), "byte", "bytes"))
	}
	what := i.Describe(len(data))
	if len(data) > tool.LargestImage {
		return tool.Fail("%s is an image (%s) of more than the %d MiB that can be shown.", name, what, tool.LargestImage>>20)
	}
	return tool.Result{
		Text:    fmt.Sprintf("%s: %s\n[the image stands beside this text]\n", name, what),
		Summary: fmt.Sprintf("image, %d × %d", i.Width, i.Height),
		Files:   []tool.File{{Name: path.Base(name), MediaType: i.MediaType, Data: data}},
	}
}

// bounds gives the first line and the number of lines, or what is wrong with them.
func (a arguments) bounds() (first, limit int, r *tool.Result) {
	first, limit = 1, mostLines
	for _, n := range []struct {
		name  string
		given *int
		to    *int
	}{{"offset", a.Offset, &first}, {"limit", a.Limit, &limit}} {
		if n.given == nil {
			continue
		}
		if *n.given < 1 {
			bad := tool.Fail("`%s` must be 1 or more, not %d.", n.name, *n.given)
			return 0, 0, &bad
		}
		*n.to = *n.given
	}
	return first, min(limit, mostLines), nil
}

// show numbers the lines and says how to read on.
func show(name, text string, first, limit int) tool.Result {
	text = strings.TrimPrefix(text, "\ufeff")
	lines := tool.Lines(text)
	switch {
	case len(lines) == 0:
		return tool.Result{Text: fmt.Sprintf("[%s is empty]", name), Summary: "empty"}
	case first > len(lines):
		return tool.Fail("`offset` %d is behind the end: %s has %s.", first, name, tool.Count(len(lines), "line", "lines"))
	}
	var b strings.Builder
	last := first - 1
	for ; last < len(lines) && last < first-1+limit; last++ {
		one := fmt.Sprintf("%6d\t%s\n", last+1, tool.Shorten(lines[last], mostLineSize))
		if b.Len()+len(one) > tool.MostText {
			break
		}
		b.WriteString(one)
	}
	if strings.Contains(text, "\r\n") {
		b.WriteString("[the lines end with \\r\\n]\n")
	}
	if last < len(lines) {
		fmt.Fprintf(&b, "[lines %d-%d of %d; read on with offset %d]\n", first, last, len(lines), last+1)
	}
	return tool.Result{Text: b.String(), Summary: tool.Count(last-first+1, "line", "lines")}
}
