package tool

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// MostText is how much text, in bytes, a tool gives to the model at once by
// itself; what is longer it cuts and says how to get the rest.
const MostText = 56 << 10

// Fail is a Result that says what went wrong and what to try.
func Fail(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

// NeedWorkspace is nil when there is a workspace, else the Result to answer.
func NeedWorkspace(env Env) *Result {
	if env.Workspace != nil {
		return nil
	}
	r := Fail("This session has no workspace, so there are no files to work on. Answer without files, or ask for a session with a workspace.")
	return &r
}

// Refused sorts an error of the workspace about one path: what the model can
// mend becomes a Result, anything else, and ctx's end, an error.
func Refused(ctx context.Context, ws workspace.Workspace, name string, err error) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	var f *fault.Fault
	if !errors.As(err, &f) {
		return Result{}, err
	}
	switch f.Code {
	case fault.NotFound:
		return Fail("%s.%s", f.Message, hint(ctx, ws, name)), nil
	case fault.InvalidArgument, fault.PermissionDenied, fault.ResourceExhausted, fault.FailedPrecondition, fault.Aborted:
		return Fail("%s.", f.Message), nil
	}
	return Result{}, err
}

// hint names the file beside a missing one that was probably meant.
func hint(ctx context.Context, ws workspace.Workspace, name string) string {
	all, err := ws.List(ctx, path.Dir(path.Clean(name)))
	if err != nil {
		return " Its folder does not exist either; list shows what is there."
	}
	var names []string
	for _, info := range all {
		names = append(names, path.Base(info.Path))
	}
	if n := near.Word(path.Base(name), names); n != "" {
		return fmt.Sprintf(" Did you mean %q?", path.Join(path.Dir(path.Clean(name)), n))
	}
	return ""
}

// Rel is how a path is shown and kept: relative to the workspace where that can
// be told, else as it was given.
func Rel(ws workspace.Workspace, name string) string {
	if rel, err := workspace.Rel(ws.Name(), name); err == nil {
		return rel
	}
	return name
}

// Count writes a number of things for people: `1 line`, `2 lines`.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
