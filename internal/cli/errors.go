package cli

import (
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/cadre-dev/cadre/internal/fault"
)

// exitOf is the exit code of an error that no command gave one.
func exitOf(err error) int {
	if connect.CodeOf(err) == connect.CodeInvalidArgument || fault.CodeOf(err) == fault.InvalidArgument {
		return exitUsage
	}
	return exitFailed
}

// complain shows an error: what happened, which rules were broken, what to do.
func (c *app) complain(err error) {
	var gone *unanswered
	var found problems
	var wire *connect.Error
	var f *fault.Fault
	var other elsewhere
	switch {
	case errors.As(err, &other):
		c.note("error: %s; this is the edition %s", other, orDash(c.Edition))
	case errors.As(err, &gone):
		c.note("error: %s", gone)
	case errors.As(err, &found):
		for _, p := range found {
			c.note("error: %s", p.Error())
		}
	case errors.As(err, &wire):
		c.complainOf(err, wire)
	case errors.As(err, &f):
		c.note("error: %s", f.Message)
	default:
		c.note("error: %s", strings.TrimRight(err.Error(), "\n"))
	}
}

// complainOf shows what the server answered.
func (c *app) complainOf(err error, wire *connect.Error) {
	info, bad := details(wire)
	c.note("error: %s%s", prefixOf(err, wire), wire.Message())
	if all := bad.GetFieldViolations(); len(all) > 1 {
		for _, v := range all {
			c.note("  %s: %s (%s)", v.GetField(), v.GetDescription(), v.GetReason())
		}
	}
	if near := info.GetMetadata()["near"]; near != "" {
		c.note("  did you mean %q?", near)
	}
	if wire.Code() == connect.CodeDeadlineExceeded {
		c.note("  the server did not answer in time; `cadre doctor` looks for the reason")
	}
	if wire.Code() == connect.CodeInternal {
		c.note("  the server's log says more under the error id %s (`cadre logs`)", info.GetMetadata()["error_id"])
	}
}

// prefixOf is what a command put before the server's message.
func prefixOf(err error, wire *connect.Error) string {
	before, _, ok := strings.Cut(err.Error(), wire.Error())
	if !ok {
		return ""
	}
	return before
}

func details(e *connect.Error) (*errdetails.ErrorInfo, *errdetails.BadRequest) {
	info, bad := &errdetails.ErrorInfo{}, &errdetails.BadRequest{}
	for _, d := range e.Details() {
		m, err := d.Value()
		if err != nil {
			continue
		}
		switch m := m.(type) {
		case *errdetails.ErrorInfo:
			info = m
		case *errdetails.BadRequest:
			bad = m
		}
	}
	return info, bad
}

// wireOf is the server's error inside err, or an empty one.
func wireOf(err error) *connect.Error {
	var wire *connect.Error
	if errors.As(err, &wire) {
		return wire
	}
	return connect.NewError(connect.CodeUnknown, fmt.Errorf("%w", err))
}
