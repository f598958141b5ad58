// Package applypatch is the tool that changes several files by one patch. Either the
// whole patch fits and all of it is prepared, or nothing is; what was prepared is made
// file by file, so a crash can leave some of them changed, and a repeated call goes on
// with the others. Nothing outside the lines that a hunk names is changed.
//
// It does not guess: a hunk that fits nowhere, or in several places, is refused.
package applypatch

import (
	"context"
	_ "embed" // for the texts beside this file
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

type patcher struct{}

// New makes the tool, which is a tool.FilesTool.
func New() tool.Tool { return patcher{} }

// Spec describes the tool.
func (patcher) Spec() tool.Spec {
	return tool.Spec{Name: "apply_patch", Description: description, Schema: schema, Class: tool.Idempotent}
}

type arguments struct {
	Patch string `json:"patch"`
}

// Run patches.
func (p patcher) Run(ctx context.Context, env tool.Env, call tool.Call) (tool.Result, error) {
	return tool.RunFiles(ctx, p, env, call)
}

// PrepareAll works out the changes.
func (patcher) PrepareAll(ctx context.Context, env tool.Env, call tool.Call, done func(path string) bool) ([]*tool.Mutation, tool.Result, error) {
	var args arguments
	if r := tool.Decode(call, &args); r != nil {
		return nil, *r, nil
	}
	files, bad := parse(args.Patch)
	if bad != nil {
		return nil, tool.Fail("The patch cannot be read, nothing was changed. %s", bad), nil
	}
	if r := tool.NeedWorkspace(env); r != nil {
		return nil, *r, nil
	}
	j := &job{ws: env.Workspace, call: call, done: done, result: summary(files)}
	if bad := j.names(files); bad != nil {
		return nil, tool.Fail("Nothing was changed. %s", bad), nil
	}
	for _, f := range files {
		if err := j.file(ctx, f); err != nil {
			return nil, tool.Result{}, err
		}
	}
	if len(j.problems) > 0 {
		return nil, tool.Fail("Nothing was changed, since not all of the patch fits.\n%s", strings.Join(j.problems, "\n")), nil
	}
	return j.all, j.result, nil
}

// summary is the call's result. It comes from the patch alone, so that it is the same
// when some of the files have been changed before a crash.
func summary(files []*file) tool.Result {
	var b strings.Builder
	count := tool.Count(len(files), "file", "files")
	fmt.Fprintf(&b, "Patched %s:\n", count)
	for _, f := range files {
		plus, minus := 0, 0
		for _, h := range f.hunks {
			for _, l := range h.lines {
				switch l.op {
				case '+':
					plus++
				case '-':
					minus++
				}
			}
		}
		switch f.kind {
		case adding:
			fmt.Fprintf(&b, "added %s (%s)\n", f.path, tool.Count(plus, "line", "lines"))
		case removing:
			fmt.Fprintf(&b, "removed %s\n", f.path)
		case changing:
			what := "changed " + f.path
			if f.to != "" {
				what = "moved " + f.path + " to " + f.to
			}
			fmt.Fprintf(&b, "%s (+%d -%d)\n", what, plus, minus)
		}
	}
	return tool.Result{Text: b.String(), Summary: count}
}
