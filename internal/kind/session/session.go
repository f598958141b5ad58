// Package session is the noun of one conversation: it makes sessions, gives
// them inputs, ends their work and shows what happens in them. The answer of
// every verb is built from rows that are committed.
package session

import (
	"context"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	sessionKind   = resourcev1.ResourceKind_session
	executionKind = resourcev1.ResourceKind_agent_execution
	agentKind     = resourcev1.ResourceKind_agent
)

// Kind is what the noun registers.
func Kind() pipeline.Kind {
	return pipeline.Kind{
		Kind: sessionKind, New: newSession, Index: store.SessionIndex, Listed: true,
		Hydrate: hydrate, Verbs: verbs, Search: search.Extract(1, content),
	}
}

// content is what sessions are found by. What was said in them belongs to their turns.
func content(s *sessionv1.Session) search.Content {
	folder := s.GetSpec().GetWorkspace().GetLocal().GetPath()
	return search.Content{Description: s.GetSpec().GetAgent(), Text: folder, Session: s.GetMetadata().GetId()}
}

func newSession() proto.Message { return &sessionv1.Session{} }

func procedure(method string) string {
	return pipeline.Procedure(pipeline.Kind{New: newSession}, method)
}

func verbs(d pipeline.Deps) []pipeline.Verb {
	self := Kind()
	view := func(method string, output func() proto.Message, last pipeline.Step) pipeline.Verb {
		return pipeline.Verb{
			Procedure: procedure(method), Permission: "view", Output: output,
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "view", sessionKind), pipeline.Validate(d), loadSession(d), pipeline.AuthorizeTarget(d, "view", sessionKind), last,
			},
		}
	}
	subscribe := view("SubscribeEvents", func() proto.Message { return &sessionv1.Frame{} }, checkCursor())
	subscribe.Stream = stream(d)
	return []pipeline.Verb{
		{
			Procedure: procedure("Create"), Permission: "create", Output: newSession,
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "create", sessionKind), pipeline.Validate(d), pipeline.Recall(d), pipeline.TakeResource(self), pipeline.RequireOrg(d, self),
				pipeline.GuardLabels(), resolveAgent(d), resolveWorkspace(d), buildSession(d), persistSession(d),
			},
		},
		{
			Procedure: procedure("Delete"), Permission: "delete", Output: newSession,
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "delete", sessionKind), pipeline.Validate(d), pipeline.Recall(d), pipeline.LoadRef(d, self),
				pipeline.AuthorizeTarget(d, "delete", sessionKind), deleteSession(d),
			},
			After: removeSandbox(d),
		},
		{
			Procedure: procedure("RunAgent"), Permission: "execute", Output: func() proto.Message { return &sessionv1.RunAgentResponse{} },
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "execute", agentKind), pipeline.Validate(d), pipeline.Recall(d), takeRun(), pipeline.RequireOrg(d, self),
				checkApproval(), checkOutput(), checkRecord(), resolveAgent(d), resolveWorkspace(d), resolveModel(d), resolveAttachments(d), buildSession(d), buildExecution(d), accept(d), ensureSandbox(d),
			},
		},
		{
			Procedure: procedure("SendMessage"), Permission: "execute", Output: func() proto.Message { return &sessionv1.SendMessageResponse{} },
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "execute", sessionKind), pipeline.Validate(d), pipeline.Recall(d), loadSession(d),
				pipeline.AuthorizeTarget(d, "execute", sessionKind), takeMessage(), checkApproval(), checkOutput(), checkRecord(),
				resolveAgent(d), resolveModel(d), resolveAttachments(d), buildExecution(d), accept(d), ensureSandbox(d),
			},
		},
		{
			Procedure: procedure("Recover"), Permission: "execute", Output: func() proto.Message { return &sessionv1.RecoverResponse{} },
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "execute", sessionKind), pipeline.Validate(d), pipeline.Recall(d), loadTarget(d),
				pipeline.AuthorizeTarget(d, "execute", sessionKind), recoverTurn(d), ensureSandbox(d),
			},
		},
		{
			Procedure: procedure("Cancel"), Permission: "execute", Output: func() proto.Message { return &sessionv1.CancelResponse{} },
			Steps: []pipeline.Step{
				pipeline.Authorize(d, "execute", sessionKind), pipeline.Validate(d), pipeline.Recall(d), loadTarget(d),
				pipeline.AuthorizeTarget(d, "execute", sessionKind), cancel(d),
			},
		},
		setGoalVerb(d),
		view("GetGoal", func() proto.Message { return &sessionv1.Goal{} }, getGoal(d)),
		view("GetTranscript", func() proto.Message { return &sessionv1.Transcript{} }, transcript(d)),
		view("ListEvents", func() proto.Message { return &sessionv1.ListEventsResponse{} }, listEvents(d)),
		subscribe,
	}
}

// run is what the verbs that make sessions and inputs know on their way.
type run struct {
	asked
	agentRef  string
	attached  []*messagev1.Attachment
	agent     *agentv1.Agent
	session   *sessionv1.Session
	create    *store.NewSession // nil when the session exists
	execution store.Row
	accept    store.Accept
}

func stateOf(r *pipeline.Request) *run {
	if s, ok := r.State.(*run); ok {
		return s
	}
	s := &run{}
	r.State = s
	if m, ok := r.Desired.(*sessionv1.Session); ok {
		s.session, s.agentRef = m, m.GetSpec().GetAgent()
	}
	return s
}

// resolveAgent reads the agent and puts its id into the session.
func resolveAgent(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "resolve agent", Do: func(ctx context.Context, r *pipeline.Request) error {
		s := stateOf(r)
		if s.agentRef == "" { // an existing session has its agent
			s.agentRef = s.session.GetStatus().GetAgentId()
		}
		ref, err := resource.ParseRef(agentKind, s.agentRef, r.Org)
		if err != nil {
			return err
		}
		row, err := pipeline.Find(ctx, d, agentKind, ref)
		if err != nil {
			return err
		}
		if row.Org != r.Org {
			return resource.NotFound(agentKind, s.agentRef)
		}
		s.agent = &agentv1.Agent{}
		return proto.Unmarshal(row.Data, s.agent)
	}}
}

// resolveWorkspace checks the folder and brings it into its real form, so that
// two ways to one folder are the same folder.
func resolveWorkspace(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "resolve workspace", Do: func(_ context.Context, r *pipeline.Request) error {
		local := stateOf(r).session.GetSpec().GetWorkspace().GetLocal()
		if local == nil {
			return nil
		}
		if d.Lane.Hands() {
			return lane.HostFolder(local.GetPath())
		}
		if !filepath.IsAbs(local.GetPath()) {
			return badWorkspace(local.GetPath(), "give an absolute path")
		}
		real, err := filepath.EvalSymlinks(filepath.Clean(local.GetPath()))
		if err != nil {
			return badWorkspace(local.GetPath(), "the server's machine has no such folder, or the server may not read it")
		}
		if !isFolder(real) {
			return badWorkspace(local.GetPath(), "it is not a folder")
		}
		local.Path = real
		return nil
	}}
}

func badWorkspace(path, why string) error {
	f := fault.New(fault.InvalidArgument, "BAD_WORKSPACE", "the workspace %s cannot be used: %s", path, why)
	f.Violations = []fault.Violation{{Field: "workspace.local.path", Rule: "workspace.folder", Text: why}}
	return f
}

// buildSession makes the session's state and its first event.
func buildSession(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "build session", Do: func(_ context.Context, r *pipeline.Request) error {
		s := stateOf(r)
		m := s.session
		now := d.Now()
		resource.SetIdentity(m, sessionKind)
		md := resource.EnsureMetadata(m)
		md.Id, md.Org, md.Slug = id.New(resource.Meta(sessionKind).GetPrefix()), r.Org, ""
		md.Visibility = resourcev1.Visibility_private
		hash, err := resource.ContentHash(m)
		if err != nil {
			return fault.From(err)
		}
		md.Version = &resourcev1.Version{Number: 1, ContentHash: hash}
		md.Audit = nil
		resource.Stamp(md, r.Caller.ID, now, true)
		m.Status = &sessionv1.SessionStatus{Phase: sessionv1.SessionPhase_idle, RootId: md.Id, AgentId: s.agent.GetMetadata().GetId()}
		folder := m.GetSpec().GetWorkspace().GetLocal().GetPath()
		created := event.New(now, &eventv1.SessionCreated{
			AgentId: m.Status.AgentId, Agent: m.GetSpec().GetAgent(), Workspace: folder,
		})
		s.create = &store.NewSession{
			Row: pipeline.RowOf(Kind(), m), Root: md.Id, Reject: m.GetSpec().GetInputPolicy() == sessionv1.InputPolicy_reject,
			Events: []*eventv1.Event{created},
		}
		s.create.Budget = budgetOf(m, now)
		if writes(d, s.agent) {
			s.create.Workspace = folder
		}
		return nil
	}}
}

// writes says whether the agent has a tool that changes its folder.
func writes(d pipeline.Deps, a *agentv1.Agent) bool {
	for _, name := range a.GetSpec().GetTools() {
		if t, ok := d.Tools.Tool(name); ok && t.Spec().Class != tool.ReadOnly {
			return true
		}
	}
	return false
}

func persistSession(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "persist", Do: func(ctx context.Context, r *pipeline.Request) error {
		s := stateOf(r)
		r.Answer = s.session
		return d.Store.CreateSession(ctx, *s.create, r.Once)
	}}
}

func deleteSession(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "delete", Do: func(ctx context.Context, r *pipeline.Request) error {
		r.Answer = r.Existing
		if _, err := d.Store.DeleteSession(ctx, r.Row.ID, r.Once); err != nil {
			return err
		}
		d.Processes.Forget(ctx, r.Row.ID)
		return nil
	}}
}

// hydrate adds the newest event's number, which changes too often to be kept in
// the row.
func hydrate(ctx context.Context, d pipeline.Deps, m proto.Message) error {
	s := m.(*sessionv1.Session)
	state, err := d.Store.Session(ctx, s.GetMetadata().GetId())
	if err != nil {
		return err
	}
	if s.Status == nil {
		s.Status = &sessionv1.SessionStatus{}
	}
	s.Status.LastSeq, s.Status.RemovedSeq = state.LastSeq, state.Removed
	return stalled(ctx, d, s)
}

// stalled notes that the server is silent which works on the session.
func stalled(ctx context.Context, d pipeline.Deps, s *sessionv1.Session) (err error) {
	switch s.GetStatus().GetPhase() {
	case sessionv1.SessionPhase_running, sessionv1.SessionPhase_cancelling:
		if d.Stalled != nil {
			s.Status.Stalled, err = d.Stalled(ctx, s.GetMetadata().GetId())
		}
	}
	return err
}
