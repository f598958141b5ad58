package session

import (
	"context"
	"os"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// takeRun makes the session that a RunAgent request implies.
func takeRun() pipeline.Step {
	return pipeline.Step{Name: "take run", Do: func(_ context.Context, r *pipeline.Request) error {
		in := r.Message.(*sessionv1.RunAgentRequest)
		m := &sessionv1.Session{
			Metadata: &resourcev1.Metadata{Org: r.Org},
			Spec:     &sessionv1.SessionSpec{Agent: in.GetAgent(), InputPolicy: in.GetInputPolicy(), Limits: in.GetLimits()},
		}
		if in.GetWorkspace() != nil {
			m.Spec.Workspace = proto.Clone(in.GetWorkspace()).(*sessionv1.Workspace)
		}
		r.Desired = m
		r.State = &run{session: m, agentRef: in.GetAgent(), asked: askedOf(in)}
		return nil
	}}
}

// takeMessage notes what a SendMessage request says.
func takeMessage() pipeline.Step {
	return pipeline.Step{Name: "take message", Do: func(_ context.Context, r *pipeline.Request) error {
		in := r.Message.(*sessionv1.SendMessageRequest)
		r.Org = r.Row.Org
		r.State = &run{session: r.Existing.(*sessionv1.Session), asked: askedOf(in)}
		return nil
	}}
}

// checkApproval refuses what cannot be asked for yet.
func checkApproval() pipeline.Step {
	return pipeline.Step{Name: "check approval", Do: func(_ context.Context, r *pipeline.Request) error {
		if stateOf(r).approve == agentexecutionv1.ApprovalMode_ask {
			return fault.New(fault.Unimplemented, "APPROVALS_NOT_BUILT",
				"asking a person for approval is not built yet: say auto, which runs every call, or deny, which runs no unsafe one")
		}
		return nil
	}}
}

// resolveModel chooses the model: the input's, the one of the session's last
// turn, the agent's, the first default whose key is set. One that cannot be used now is refused before anything is written.
func resolveModel(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "resolve model", Do: func(ctx context.Context, r *pipeline.Request) error {
		s := stateOf(r)
		if s.model == "" && r.Row.ID != "" {
			last, err := lastExecution(ctx, d, r.Row)
			if err != nil {
				return err
			}
			s.model = last.GetSpec().GetModel()
			if s.effort == "" {
				s.effort = last.GetSpec().GetEffort()
			}
		}
		if s.model == "" {
			s.model = s.agent.GetSpec().GetModel()
		}
		if s.effort == "" {
			s.effort = s.agent.GetSpec().GetEffort()
		}
		if s.model == "" {
			s.model = d.Catalogue.Default(func(name string) bool { _, err := d.Models.Open(ctx, name); return err == nil })
		}
		_, err := d.Models.Open(ctx, s.model)
		return err
	}}
}

// lastExecution is the session's newest turn, an empty one when it has none. With
// the organization the list has an index to follow.
func lastExecution(ctx context.Context, d pipeline.Deps, session store.Row) (*agentexecutionv1.AgentExecution, error) {
	page, err := d.Store.List(ctx, store.Query{
		Kind: executionKind, Org: session.Org, Limit: 1, Order: []store.Order{{Column: store.Column{Name: "created_at"}, Desc: true}},
		Where: []store.Condition{{Column: store.Column{Name: "index", Index: 0}, Op: store.Eq, Value: session.ID}},
	})
	m := &agentexecutionv1.AgentExecution{}
	if err != nil || len(page.Rows) == 0 {
		return m, err
	}
	return m, proto.Unmarshal(page.Rows[0].Data, m)
}

// buildExecution makes the turn that will answer the input.
func buildExecution(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "build execution", Do: func(_ context.Context, r *pipeline.Request) error {
		s := stateOf(r)
		now := d.Now()
		session := s.session.GetMetadata().GetId()
		input := id.New("inp")
		m := &agentexecutionv1.AgentExecution{
			Metadata: &resourcev1.Metadata{
				Id: id.New(resource.Meta(executionKind).GetPrefix()), Org: r.Org, Visibility: resourcev1.Visibility_private,
				Version: &resourcev1.Version{Number: 1},
			},
			Spec: &agentexecutionv1.AgentExecutionSpec{
				SessionId: session, AgentId: s.agent.GetMetadata().GetId(), Model: s.model, Effort: s.effort, InputId: input, Approve: s.approve,
				OutputSchema: s.schema, Record: s.record,
			},
			Status: &agentexecutionv1.AgentExecutionStatus{Phase: agentexecutionv1.ExecutionPhase_queued},
		}
		resource.SetIdentity(m, executionKind)
		resource.Stamp(m.Metadata, r.Caller.ID, now, true)
		s.execution = pipeline.RowOf(pipeline.Kind{Kind: executionKind, Index: store.ExecutionIndex}, m)
		s.accept = store.Accept{
			New: s.create, Session: session, Execution: s.execution, Once: r.Once, Now: now,
			Input: store.Input{ID: input, Item: &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: s.message, Attachments: s.attached}}}},
			Events: []*eventv1.Event{
				event.New(now, &eventv1.InputQueued{InputId: input, Text: s.message, Model: s.model, Attachments: s.attached}),
				event.New(now, &eventv1.TurnQueued{InputId: input, Model: s.model}),
			},
		}
		r.Answer = answerRun(r, s, m)
		return nil
	}}
}

func answerRun(r *pipeline.Request, s *run, m *agentexecutionv1.AgentExecution) proto.Message {
	if r.Procedure == procedure("SendMessage") {
		return &sessionv1.SendMessageResponse{Execution: m}
	}
	session := proto.Clone(s.session).(*sessionv1.Session)
	session.Status.Phase, session.Status.ActiveExecutionId = sessionv1.SessionPhase_running, m.GetMetadata().GetId()
	return &sessionv1.RunAgentResponse{Session: session, Execution: m}
}

// accept makes it all durable in one transaction and wakes the engine afterwards.
func accept(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "accept", Do: func(ctx context.Context, r *pipeline.Request) error {
		s := stateOf(r)
		revision, err := d.Store.Accept(ctx, s.accept)
		if err != nil {
			return err
		}
		d.Wake(s.session.GetMetadata().GetId(), revision)
		return nil
	}}
}
