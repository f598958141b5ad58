package remote

import (
	"errors"

	"connectrpc.com/connect"

	handsv1 "github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// ToWire puts an error of a workspace into the form in which it travels. What is no fault
// becomes one without its cause's text.
func ToWire(err error) error {
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

// problem is the far workspace's own error; nil when the connection failed instead.
func problem(err error) error {
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

// InfoToWire puts an entry into the form in which it travels.
func InfoToWire(i workspace.Info) *handsv1.Info {
	return &handsv1.Info{Path: i.Path, Size: i.Size, Mode: uint32(i.Mode), IsDir: i.IsDir, Link: i.Link}
}

// CommandFromWire reads a command.
func CommandFromWire(c *handsv1.Command) workspace.Command {
	return workspace.Command{ID: c.GetId(), Session: c.GetSession(), Execution: c.GetExecution(), Line: c.GetLine(), Background: c.GetBackground()}
}

func commandToWire(c workspace.Command) *handsv1.Command {
	return &handsv1.Command{Id: c.ID, Session: c.Session, Execution: c.Execution, Line: c.Line, Background: c.Background}
}

// CommandToWire puts a command into the form in which it travels.
func CommandToWire(c workspace.Command) *handsv1.Command { return commandToWire(c) }
