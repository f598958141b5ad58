package turn_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/artifact/folder"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/edit"
	"github.com/cadre-dev/cadre/internal/tool/read"
	"github.com/cadre-dev/cadre/internal/tool/write"
	"github.com/cadre-dev/cadre/internal/turn"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

// world is a turn's Effects over a real store and a model of the test.
type world struct {
	t          *testing.T
	store      store.Store
	artifacts  artifact.Store
	play       func(ctx context.Context, req model.Request) iter.Seq2[model.Part, error]
	tools      map[string]tool.Tool
	folder     string
	limits     *agentv1.AgentLimits
	approve    agentexecutionv1.ApprovalMode
	schema     string
	attached   []*messagev1.Attachment
	blind      bool  // the model takes no images
	window     int64 // of the model, in tokens; 0 is unknown
	open       func(folder string) (workspace.Workspace, error)
	place      func(ctx context.Context, p turn.Place) (workspace.Workspace, error) // instead of open
	sandbox    bool                                                                 // the policy has the folder in the session's sandbox
	end        func(ctx context.Context, session, execution string) error
	opt        turn.Options
	definition string       // fingerprint of what is behind the model's name
	added      func() error // called when an item was added; its error is the answer
	setUp      error        // opening the model fails with it

	mu        sync.Mutex
	steps     []string // what happened, in order
	shown     []*eventv1.EphemeralDelta
	published []*eventv1.Event
	session   string
	execution string
	money
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	a, err := folder.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: s, artifacts: a, folder: t.TempDir(), open: local.Open, tools: map[string]tool.Tool{
		"read": read.New(), "write": write.New(), "edit": edit.New(),
	}}
	s.OnCommit(func(events []*eventv1.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.published = append(w.published, events...)
	})
	return w
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, fmt.Sprintf(format, args...))
}

// accept makes a session with one input.
func (w *world) accept(text string) {
	w.t.Helper()
	w.session, w.execution = id.New("ses"), id.New("aex")
	now := w.Now()
	sm := &sessionv1.Session{Metadata: &resourcev1.Metadata{Id: w.session, Org: "default"}, Spec: &sessionv1.SessionSpec{Agent: "a"}}
	xm := &agentexecutionv1.AgentExecution{
		Metadata: &resourcev1.Metadata{Id: w.execution, Org: "default"},
		Spec:     &agentexecutionv1.AgentExecutionSpec{SessionId: w.session, AgentId: "agt_1", Model: "fake/m"},
		Status:   &agentexecutionv1.AgentExecutionStatus{Phase: agentexecutionv1.ExecutionPhase_queued},
	}
	_, err := w.store.Accept(w.t.Context(), store.Accept{
		New:       &store.NewSession{Row: rowOf(resourcev1.ResourceKind_session, sm, store.SessionIndex, now), Root: w.session},
		Execution: rowOf(resourcev1.ResourceKind_agent_execution, xm, store.ExecutionIndex, now),
		Input:     store.Input{ID: "inp_1", Item: &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text, Attachments: w.attached}}}},
		Events:    []*eventv1.Event{event.New(now, &eventv1.TurnQueued{InputId: "inp_1"})},
		Now:       now,
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func rowOf(k resource.Kind, m proto.Message, index []string, now time.Time) store.Row {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	md := resource.Metadata(m)
	return store.Row{Kind: k, ID: md.GetId(), Org: md.GetOrg(), Version: 1, CreatedAt: now, UpdatedAt: now, Index: store.IndexOf(m, index), Data: data}
}

// failFast tries nothing again.
var failFast = turn.Recovery{Delays: []time.Duration{}}

// claim makes an attempt; gone is the one before it that is known to be dead.
func (w *world) claim(gone string) store.Claimed {
	w.t.Helper()
	policy := &ledgerv1.ExecutionPolicy{
		Model: "fake/m", Provider: "fake", Instructions: "Do what the person says.", Tools: slices.Sorted(maps.Keys(w.tools)),
		Workspace: w.folder, Sandbox: w.sandbox, Limits: w.limits, Approve: w.approve, OutputSchema: w.schema, ModelFingerprint: w.definition,
		GoalVersion: w.goal, Member: "ida_1",
	}
	policy.DefinitionHash = turn.DefinitionHash(policy)
	c, err := w.store.Claim(w.t.Context(), store.Claim{
		Session: w.session, Execution: w.execution, Attempt: id.New("att"), BootEpoch: "boot_test", Gone: gone, Now: w.Now(),
		Policy: policy,
		Events: func(how store.Taken) []*eventv1.Event {
			if how.First {
				return []*eventv1.Event{event.New(w.Now(), &eventv1.TurnStarted{Model: "fake/m"})}
			}
			return []*eventv1.Event{event.New(w.Now(), &eventv1.TurnRecoveryRequested{LostGeneration: how.Lost, Reason: how.Reason})}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// run accepts, claims and runs one turn.
func (w *world) run(ctx context.Context) error {
	w.accept("go on")
	return turn.Run(ctx, w, w.claim(""), w.opt)
}

// events reads the session's whole log.
func (w *world) events() []*eventv1.Event {
	w.t.Helper()
	all, err := w.store.Events(context.Background(), store.EventQuery{Session: w.session, Limit: 10000, MaxDepth: -1})
	if err != nil {
		w.t.Fatal(err)
	}
	for i, e := range all {
		if e.GetSeq() != int64(i)+1 {
			w.t.Fatalf("event %d has seq %d: the log has a gap", i+1, e.GetSeq())
		}
	}
	return all
}

func (w *world) types() []string {
	var out []string
	for _, e := range w.events() {
		out = append(out, e.GetType())
	}
	return out
}

// last finds the newest event of a type.
func (w *world) last(typ string) *eventv1.Event {
	w.t.Helper()
	var found *eventv1.Event
	for _, e := range w.events() {
		if e.GetType() == typ {
			found = e
		}
	}
	if found == nil {
		w.t.Fatalf("the log has no %s: %v", typ, w.types())
	}
	return found
}

func (w *world) count(typ string) (n int) {
	for _, t := range w.types() {
		if t == typ {
			n++
		}
	}
	return n
}

func (w *world) status() *agentexecutionv1.AgentExecutionStatus {
	w.t.Helper()
	row, err := w.store.Get(context.Background(), resourcev1.ResourceKind_agent_execution, w.execution)
	if err != nil {
		w.t.Fatal(err)
	}
	m := &agentexecutionv1.AgentExecution{}
	if err := proto.Unmarshal(row.Data, m); err != nil {
		w.t.Fatal(err)
	}
	return m.GetStatus()
}

func (w *world) Ledger() turn.Ledger { return &ledger{Store: w.store, w: w} }
func (w *world) OpenModel(context.Context, *ledgerv1.ExecutionPolicy) (model.Model, error) {
	return w, w.setUp
}
func (w *world) Window(string) int64                                 { return w.window }
func (w *world) Sees(string) bool                                    { return !w.blind }
func (w *world) Fingerprint(context.Context, string) (string, error) { return w.definition, nil }
func (w *world) Tool(name string) (tool.Tool, bool) {
	t, ok := w.tools[name]
	return t, ok
}
func (w *world) OpenWorkspace(ctx context.Context, p turn.Place) (workspace.Workspace, error) {
	if w.place != nil {
		return w.place(ctx, p)
	}
	return w.open(p.Folder)
}
func (w *world) EndProcesses(ctx context.Context, session, execution string) error {
	if w.end == nil {
		return nil
	}
	return w.end(ctx, session, execution)
}
func (w *world) Artifacts() artifact.Store { return w.artifacts }
func (w *world) Show(d *eventv1.EphemeralDelta) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = append(w.shown, d)
}
func (w *world) Now() time.Time    { return time.Now() }
func (w *world) Log() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Ask plays the test's model.
func (w *world) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	w.note("bytes %s", req.RequestID[len(w.execution)+1:])
	return w.play(ctx, req)
}

// ledger notes the order of what matters for admission.
type ledger struct {
	store.Store
	w *world
}

func (l *ledger) Dispatch(ctx context.Context, f store.Fence, d store.Dispatch) error {
	err := l.Store.Dispatch(ctx, f, d)
	if err != nil && l.w.refused != nil {
		l.w.refused()
	}
	l.w.note("checkpoint %d", d.Number)
	return err
}

func (l *ledger) Respond(ctx context.Context, f store.Fence, r store.Response) error {
	err := l.Store.Respond(ctx, f, r)
	l.w.note("usage %d", r.Number)
	return err
}

// replies plays fixed answers, chosen by how many the turn has already.
func replies(all ...[]model.Part) func(context.Context, model.Request) iter.Seq2[model.Part, error] {
	return func(_ context.Context, req model.Request) iter.Seq2[model.Part, error] {
		n := 0
		for _, item := range req.History {
			if item.GetAssistant() != nil {
				n++
			}
		}
		return func(yield func(model.Part, error) bool) {
			if req.Sent != nil {
				req.Sent()
			}
			for _, p := range all[min(n, len(all)-1)] {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

func text(s string) model.Part { return model.Part{Text: s} }

func call(callID, name, args string) model.Part {
	return model.Part{ToolCall: &messagev1.ToolCall{Id: callID, Name: name, Arguments: args}}
}

func end(in, out int64) model.Part {
	return model.Part{Done: &model.Done{FinishReason: "stop", ResponseID: "resp", Usage: &messagev1.Usage{InputTokens: in, OutputTokens: out}}}
}
