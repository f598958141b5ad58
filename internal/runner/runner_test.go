package runner_test

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/control"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/memory"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/runner"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
	"github.com/cadre-dev/cadre/internal/tool"
)

// process is one server's life without its port: engine, runner, control.
type process struct {
	t       *testing.T
	store   *sqlite.Store
	events  *eventlog.Log
	engine  engine.Engine
	runner  *runner.Runner
	control *control.Control
}

// counted is an engine that counts its wakes.
type counted struct {
	engine.Engine
	wakes atomic.Int64
}

func (c *counted) Wake(ctx context.Context, session string, revision int64) error {
	c.wakes.Add(1)
	return c.Engine.Wake(ctx, session, revision)
}

// free is a catalogue in which all is free.
type free struct{}

func (free) Cost(string, *messagev1.Usage, time.Time) {}
func (free) Sees(string) bool                         { return true }
func (free) Window(string) int64                      { return 0 }

// play is a model of the test.
type play func(ctx context.Context, req model.Request) iter.Seq2[model.Part, error]

func (p play) Open(context.Context, string) (model.Model, error)                   { return p, nil }
func (p play) Fingerprint(context.Context, string) (string, error)                 { return "", nil }
func (p play) Ask(c context.Context, r model.Request) iter.Seq2[model.Part, error] { return p(c, r) }

func start(t *testing.T, dir string, m play) *process {
	t.Helper()
	return startWith(t, dir, m, false)
}

// startWith starts a process that begins turns by itself, or by way of its engine.
func startWith(t *testing.T, dir string, m play, direct bool) *process {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	return startOn(t, dir, m, direct, &counted{Engine: memory.New(memory.Options{Log: log})}, func(s store.Store) store.Store { return s })
}

// startOn is startWith on an engine of the test's own and a store with something around it.
func startOn(t *testing.T, dir string, m play, direct bool, e engine.Engine, around func(store.Store) store.Store) *process {
	t.Helper()
	opened, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, store: opened, events: eventlog.New(opened), engine: e}
	opened.OnCommit(p.events.Publish)
	s, log := around(opened), slog.New(slog.DiscardHandler)
	boot := id.New("boot")
	p.runner = runner.New(runner.Options{Store: s, BootEpoch: boot, Log: log, Effects: &runner.World{
		Store: s, Models: m, Catalogue: free{}, Tools: func(string) (tool.Tool, bool) { return nil, false }, Events: p.events, Clock: time.Now, SlogTurns: log,
	}})
	p.control = control.New(control.Options{Store: s, Engine: p.engine, Runner: p.runner, BootEpoch: boot, Direct: direct, Now: time.Now, Log: log, DispatchEvery: 200 * time.Millisecond, MendEvery: 10 * time.Millisecond})
	if err := p.control.Inherit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.engine.Start(t.Context(), p.control); err != nil {
		t.Fatal(err)
	}
	if err := p.control.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) stop() {
	p.t.Helper()
	p.control.Stop()
	if err := p.engine.Stop(context.Background()); err != nil {
		p.t.Error(err)
	}
	if err := p.store.Close(); err != nil {
		p.t.Error(err)
	}
}

// declare stores the agent that all sessions use.
func (p *process) declare() {
	p.t.Helper()
	a := &agentv1.Agent{Metadata: &resourcev1.Metadata{Id: "agt_1", Slug: "a"}, Spec: &agentv1.AgentSpec{Instructions: "Answer."}}
	if err := p.store.Create(p.t.Context(), row(resourcev1.ResourceKind_agent, a, nil), nil); err != nil {
		p.t.Fatal(err)
	}
}

func row(k resource.Kind, m proto.Message, index []string) store.Row {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return store.Row{Kind: k, ID: resource.Metadata(m).GetId(), CreatedAt: time.Now(), Index: store.IndexOf(m, index), Data: data}
}

// send accepts an input, in a new session when session is "", and does not wake.
func (p *process) send(session string) (string, string) {
	p.t.Helper()
	var n *store.NewSession
	if session == "" {
		session = id.New("ses")
		m := &sessionv1.Session{Metadata: &resourcev1.Metadata{Id: session}, Spec: &sessionv1.SessionSpec{Agent: "a"}}
		n = &store.NewSession{Row: row(resourcev1.ResourceKind_session, m, store.SessionIndex), Root: session}
	}
	x := &agentexecutionv1.AgentExecution{Metadata: &resourcev1.Metadata{Id: id.New("aex")},
		Spec: &agentexecutionv1.AgentExecutionSpec{SessionId: session, AgentId: "agt_1", Model: "fake/m"}}
	_, err := p.store.Accept(p.t.Context(), store.Accept{
		New: n, Session: session, Now: time.Now(), Execution: row(resourcev1.ResourceKind_agent_execution, x, store.ExecutionIndex),
		Input:  store.Input{ID: id.New("inp"), Item: &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: "go"}}}},
		Events: []*eventv1.Event{event.New(time.Now(), &eventv1.TurnQueued{})},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return session, x.GetMetadata().GetId()
}

// await reads a session's log until n events of a type were seen.
func (p *process) await(session, typ string, n int) *eventv1.Event {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	frames, err := p.events.Subscribe(ctx, eventlog.Subscription{Session: session, Filter: eventlog.Filter{Types: []string{typ}, MaxDepth: -1}})
	if err != nil {
		p.t.Fatal(err)
	}
	for f, err := range frames {
		if err != nil {
			p.t.Fatal(err)
		}
		if f.Event != nil {
			if n--; n == 0 {
				return f.Event
			}
		}
	}
	p.t.Fatalf("the log of %s has not enough %s", session, typ)
	return nil
}

func answer(context.Context, model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		_ = yield(model.Part{Text: "ok"}, nil) && yield(model.Part{Done: &model.Done{FinishReason: "stop"}}, nil)
	}
}

// hang says something and waits until it is cancelled.
func hang(ctx context.Context, _ model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if yield(model.Part{Text: "thinking"}, nil) {
			<-ctx.Done()
			yield(model.Part{}, context.Cause(ctx))
		}
	}
}

func TestManySessionsTakeTheirTurnsInOrder(t *testing.T) {
	t.Parallel()
	p := start(t, sqlitetest.Fresh(t), answer)
	defer p.stop()
	p.declare()
	var all sync.WaitGroup
	for range 30 {
		session, _ := p.send("")
		p.send(session)
		p.send(session)
		all.Go(func() {
			p.control.Wake(session, 3)
			p.await(session, "turn.completed", 3)
		})
	}
	all.Wait()
}

func TestAnInputWhoseNudgeWasLostIsFoundByTheDispatcher(t *testing.T) {
	t.Parallel()
	p := start(t, sqlitetest.Fresh(t), answer)
	defer p.stop()
	p.declare()
	session, _ := p.send("") // nobody wakes the engine
	p.await(session, "turn.completed", 1)
}

func TestCancelReachesARunningTurnAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, sqlitetest.Fresh(t), hang)
	defer p.stop()
	p.declare()
	session, execution := p.send("")
	p.control.Wake(session, 1)
	p.await(session, "agent.message.delta", 1)
	out, err := p.store.RequestCancel(t.Context(), store.CancelRequest{Session: session, Reason: "enough", Now: time.Now()})
	if err != nil || len(out.Tell) != 1 {
		t.Fatalf("the cancel gave %v, %v", out, err)
	}
	asked := time.Now()
	p.runner.Cancel(out.Tell[0])
	e := p.await(session, "turn.cancelled", 1)
	if took := e.GetOccurredAt().AsTime().Sub(asked); took > 500*time.Millisecond { // a promise, not a measurement
		t.Errorf("the turn ended %s after the cancel, want 500 ms at most", took)
	}
	if e.GetExecutionId() != execution || e.GetTurnCancelled().GetReason() != "enough" {
		t.Errorf("the event is %v", e)
	}
}

func TestACancelledTurnWithoutAnOwnerIsSettled(t *testing.T) {
	t.Parallel()
	dir := sqlitetest.Fresh(t)
	first := start(t, dir, hang)
	first.declare()
	session, _ := first.send("")
	first.control.Wake(session, 1)
	first.await(session, "agent.message.delta", 1)
	first.stop()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RequestCancel(t.Context(), store.CancelRequest{Session: session, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir, hang)
	defer second.stop()
	second.await(session, "turn.cancelled", 1)
}

func TestAStoppedServersTurnsGoOnAtTheNextStart(t *testing.T) {
	t.Parallel()
	dir := sqlitetest.Fresh(t)
	first := start(t, dir, hang)
	first.declare()
	var sessions []string
	for range 5 {
		session, _ := first.send("")
		sessions = append(sessions, session)
		first.control.Wake(session, 1)
		first.await(session, "agent.message.delta", 1)
	}
	first.stop()
	second := start(t, dir, answer)
	defer second.stop()
	for _, session := range sessions {
		e := second.await(session, "turn.completed", 1)
		if e.GetGeneration() != 2 {
			t.Errorf("the turn ended in generation %d, want 2", e.GetGeneration())
		}
	}
}

func TestATurnWhoseAgentIsGoneFailsAndSaysSo(t *testing.T) {
	t.Parallel()
	p := start(t, sqlitetest.Fresh(t), answer)
	defer p.stop()
	session, _ := p.send("")
	p.control.Wake(session, 1)
	if f := p.await(session, "turn.failed", 1).GetTurnFailed().GetError(); f.GetCode() != "not_found" {
		t.Fatalf("the failure is %v", f)
	}
}

func TestAPanickingModelDoesNotTakeTheServerWithIt(t *testing.T) {
	t.Parallel()
	var calls sync.Map
	p := start(t, sqlitetest.Fresh(t), func(ctx context.Context, r model.Request) iter.Seq2[model.Part, error] {
		if _, again := calls.LoadOrStore("first", true); !again {
			panic("a faulty provider")
		}
		return answer(ctx, r)
	})
	defer p.stop()
	p.declare()
	session, _ := p.send("")
	p.control.Wake(session, 1)
	if e := p.await(session, "turn.completed", 1); e.GetGeneration() != 2 {
		t.Fatalf("the turn ended in generation %d, want 2", e.GetGeneration())
	}
}

func TestATurnThatAlwaysPanicsFailsInTheEnd(t *testing.T) {
	t.Parallel()
	p := start(t, sqlitetest.Fresh(t), func(context.Context, model.Request) iter.Seq2[model.Part, error] { panic("a faulty provider") })
	defer p.stop()
	p.declare()
	session, _ := p.send("")
	p.control.Wake(session, 1)
	e := p.await(session, "turn.failed", 1)
	if e.GetTurnFailed().GetError().GetCode() != "attempts_lost" || e.GetGeneration() != 5 {
		t.Fatalf("got %v, want attempts_lost after four attempts", e)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
