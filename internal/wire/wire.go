// Package wire is the form in which a workspace's questions and answers travel between the
// server and the program inside a sandbox. Both ends are of one release.
package wire

import (
	"errors"
	"io/fs"

	"connectrpc.com/connect"

	handsv1 "github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Error puts an error of a workspace into the form in which it travels. What is no fault
// becomes one without its cause's text.
func Error(err error) error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	e := connect.NewError(connect.CodeFailedPrecondition, errors.New(f.Message))
	d, derr := connect.NewErrorDetail(&handsv1.Problem{Code: string(f.Code), Reason: f.Reason, Message: f.Message, Meta: f.Meta})
	if derr == nil {
		e.AddDetail(d)
	}
	return e
}

// Problem is the far workspace's own error; nil when the connection failed instead.
func Problem(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return nil
	}
	for _, d := range e.Details() {
		v, derr := d.Value()
		if p, ok := v.(*handsv1.Problem); ok && derr == nil {
			f := fault.New(fault.Code(p.GetCode()), p.GetReason(), "%s", p.GetMessage())
			f.Meta = p.GetMeta()
			return f
		}
	}
	return nil
}

// ReadInfo reads an entry.
func ReadInfo(i *handsv1.Info) workspace.Info {
	if i == nil {
		return workspace.Info{}
	}
	return workspace.Info{Path: i.GetPath(), Size: i.GetSize(), Mode: fs.FileMode(i.GetMode()), IsDir: i.GetIsDir(), Link: i.GetLink()}
}

// Info puts an entry into the form in which it travels.
func Info(i workspace.Info) *handsv1.Info {
	return &handsv1.Info{Path: i.Path, Size: i.Size, Mode: uint32(i.Mode), IsDir: i.IsDir, Link: i.Link}
}

// ReadCommand reads a command.
func ReadCommand(c *handsv1.Command) workspace.Command {
	return workspace.Command{ID: c.GetId(), Session: c.GetSession(), Execution: c.GetExecution(), Line: c.GetLine(), Background: c.GetBackground()}
}

// Command puts a command into the form in which it travels.
func Command(c workspace.Command) *handsv1.Command {
	return &handsv1.Command{Id: c.ID, Session: c.Session, Execution: c.Execution, Line: c.Line, Background: c.Background}
}

// ErrOtherBoot: the program inside is not the one that a start was meant for.
var ErrOtherBoot = fault.New(fault.FailedPrecondition, "SANDBOX_RESTARTED", "the sandbox was started anew")
