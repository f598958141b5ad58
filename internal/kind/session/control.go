package session

import (
	"context"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

// target is what a verb on a session or on one of its executions is about.
type target struct {
	session   string
	execution string // "" for the whole session
}

// loadTarget finds the session, or the execution and its session.
func loadTarget(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "load", Do: func(ctx context.Context, r *pipeline.Request) error {
		ref := r.Message.(interface{ GetId() string }).GetId()
		switch id.Prefix(ref) {
		case resource.Meta(sessionKind).GetPrefix():
			row, err := d.Store.Get(ctx, sessionKind, ref)
			r.Row, r.State = row, target{session: ref}
			return err
		case resource.Meta(executionKind).GetPrefix():
			row, err := d.Store.Get(ctx, executionKind, ref)
			if err != nil {
				return err
			}
			session := row.Index[0]
			r.State = target{session: session, execution: ref}
			r.Row, err = d.Store.Get(ctx, sessionKind, session)
			return err
		}
		return fault.New(fault.InvalidArgument, "BAD_REFERENCE", "%q is neither a session's id (ses_…) nor an execution's (aex_…)", ref)
	}}
}

// cancel ends what is queued, marks what runs and tells it at once.
func cancel(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "cancel", Do: func(ctx context.Context, r *pipeline.Request) error {
		at := r.State.(target)
		answer := &sessionv1.CancelResponse{}
		r.Answer = answer
		c := store.CancelRequest{
			Session: at.session, Execution: at.execution, By: r.Caller.ID, Now: d.Now(), Once: r.Once,
			Reason: r.Message.(*sessionv1.CancelRequest).GetReason(),
			Found:  func(found store.CancelAnswer) error { return decodeExecutions(answer, found.Executions) },
		}
		out, err := d.Store.RequestCancel(ctx, c)
		if err != nil {
			return err
		}
		for _, fence := range out.Tell {
			d.Tell(fence)
		}
		if len(out.Executions) > 0 {
			d.Wake(c.Session, out.Revision)
		}
		d.Processes.End(ctx, at.session, at.execution) // also what earlier turns left in the background
		return nil
	}}
}

// recoverTurn lets a waiting or failed turn go on.
func recoverTurn(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "recover", Do: func(ctx context.Context, r *pipeline.Request) error {
		at := r.State.(target)
		m := &agentexecutionv1.AgentExecution{}
		r.Answer = &sessionv1.RecoverResponse{Execution: m}
		out, err := d.Store.Recover(ctx, store.RecoverRequest{
			Session: at.session, Execution: at.execution, By: r.Caller.ID, Once: r.Once, Now: d.Now(),
			Found: func(row store.Row) error { return proto.Unmarshal(row.Data, m) },
		})
		if err != nil {
			return err
		}
		d.Wake(at.session, out.Revision)
		return nil
	}}
}

func decodeExecutions(answer *sessionv1.CancelResponse, rows []store.Row) error {
	for _, row := range rows {
		m := &agentexecutionv1.AgentExecution{}
		if err := proto.Unmarshal(row.Data, m); err != nil {
			return fault.From(err)
		}
		answer.Executions = append(answer.Executions, m)
	}
	return nil
}
