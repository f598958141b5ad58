package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/identity/operator"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
)

// laneApp is a server whose sandboxes are a fake's; nil is none.
func laneApp(t *testing.T, fake *sandboxtest.Fake, s lane.Settings) *App {
	t.Helper()
	a := &App{opt: Options{DataDir: t.TempDir(), Engine: "memory", Version: "test"}, boot: "boot_test"}
	t.Cleanup(a.close)
	withLane := func(context.Context) error {
		if fake != nil {
			a.lane = lane.New(lane.Options{Provisioner: fake, Settings: s, Store: a.store, Log: a.log})
		}
		return nil
	}
	for _, step := range []func(context.Context) error{a.openFolder, a.openProcesses, a.openStore, a.openSearch, withLane, a.openEngine, a.assemble, a.firstStart} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a.ask(t, "cadre.agentic.agent.v1.AgentService/Create", &agentv1.CreateAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "helper", Org: "default"}, Spec: &agentv1.AgentSpec{Instructions: "Help whoever asks."},
	}})
	return a
}

func (a *App) verb(t *testing.T, procedure string) pipeline.Verb {
	t.Helper()
	i := slices.IndexFunc(a.verbs, func(v pipeline.Verb) bool { return v.Procedure == "/"+procedure })
	if i < 0 {
		t.Fatalf("there is no verb %s", procedure)
	}
	return a.verbs[i]
}

func (a *App) ask(t *testing.T, procedure string, m proto.Message) proto.Message {
	t.Helper()
	r := &pipeline.Request{Caller: identity.Caller{ID: operator.ID, Class: identity.Internal}, Procedure: "/" + procedure, Message: m, Org: "default"}
	if err := a.verb(t, procedure).Run(t.Context(), r); err != nil {
		t.Fatalf("%s: %v", procedure, err)
	}
	return r.Answer
}

// scriptFile is a script that answers once.
func scriptFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(file, []byte("turns:\n  - steps:\n      - text: Done.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const sessions = "cadre.agentic.session.v1.SessionService/"

func (a *App) start(t *testing.T) *sessionv1.RunAgentResponse {
	t.Helper()
	return a.ask(t, sessions+"RunAgent", &sessionv1.RunAgentRequest{Agent: "helper", Message: "hello", Model: "scripted:" + scriptFile(t)}).(*sessionv1.RunAgentResponse)
}

func (a *App) stored(t *testing.T, execution string) *agentexecutionv1.AgentExecution {
	t.Helper()
	row, err := a.store.Get(t.Context(), resourcev1.ResourceKind_agent_execution, execution)
	if err != nil {
		t.Fatal(err)
	}
	m := &agentexecutionv1.AgentExecution{}
	if err := proto.Unmarshal(row.Data, m); err != nil {
		t.Fatal(err)
	}
	return m
}

var hosting = lane.Settings{InSandbox: true, PerSession: true, Target: sessionv1.ExecutionTarget_cloud}

// A run gets its session's sandbox behind its start, in placement runner. C60: an
// in-process call is internal. C77: the step comes behind the one that accepts and wakes.
// C78: a recover has the same step.
func TestRunsGetTheirSandbox(t *testing.T) {
	t.Parallel()
	fake := sandboxtest.NewFake()
	a := laneApp(t, fake, hosting)
	out := a.start(t)
	id := out.GetSession().GetMetadata().GetId()
	want := sandboxtest.Call{Method: "EnsureSession", Key: sandbox.Key{Scope: sandbox.Session, ID: id}, Env: sandbox.NewEnv("session:"+id, "", identity.Internal)}
	if calls := fake.Calls(); len(calls) != 1 || calls[0] != want {
		t.Errorf("the driver was called so: %+v", calls)
	}
	for verb, before := range map[string]string{"RunAgent": "accept", "SendMessage": "accept", "Recover": "recover"} {
		steps := a.verb(t, sessions+verb).Steps
		last, start := steps[len(steps)-1].Name, steps[len(steps)-2].Name
		if last != "ensure session sandbox" || start != before {
			t.Errorf("%s ends with %s, %s", verb, start, last)
		}
	}
}

// C67, C71: a sandbox that cannot be made does not fail the run; the cause stands on it.
func TestARunOutlivesItsSandbox(t *testing.T) {
	t.Parallel()
	fake := sandboxtest.NewFake()
	fake.Fail = func(sandboxtest.Call) error { return errors.New("no free node") }
	a := laneApp(t, fake, hosting)
	m := a.stored(t, a.start(t).GetExecution().GetMetadata().GetId())
	if m.GetStatus().GetError().GetMessage() != "Sandbox provisioning failed: no free node" || m.GetStatus().GetPhase() != agentexecutionv1.ExecutionPhase_queued {
		t.Errorf("the run is %v", m.GetStatus())
	}
}

// C99: a deleted session's sandbox goes behind the pipeline, when the row is gone, and by
// no step. C100: a driver that fails does not fail the delete. C101: no lane, no call.
func TestADeletedSessionsSandbox(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		fake := sandboxtest.NewFake()
		a := laneApp(t, fake, lane.Settings{})
		s := a.ask(t, sessions+"Create", &sessionv1.CreateSessionRequest{Session: &sessionv1.Session{
			ApiVersion: "agentic.cadre.dev/v1", Kind: "Session", Metadata: &resourcev1.Metadata{Org: "default"}, Spec: &sessionv1.SessionSpec{Agent: "helper"},
		}}).(*sessionv1.Session)
		id := s.GetMetadata().GetId()
		gone := false
		fake.Fail = func(sandboxtest.Call) error {
			_, err := a.store.Get(context.Background(), resourcev1.ResourceKind_session, id)
			gone = err != nil
			if broken {
				return errors.New("no answer")
			}
			return nil
		}
		a.ask(t, sessions+"Delete", &resourcev1.DeleteRequest{Ref: id})
		if calls := fake.Calls(); len(calls) != 1 || calls[0].Method != "Deprovision" || calls[0].Key.ID != id || !gone {
			t.Errorf("the driver was called so: %+v, with the row gone: %t", calls, gone)
		}
	}
	v := laneApp(t, nil, lane.Settings{}).verb(t, sessions+"Delete")
	if v.After == nil || slices.ContainsFunc(v.Steps, func(s pipeline.Step) bool { return strings.Contains(s.Name, "sandbox") }) {
		t.Errorf("it is removed so: %s", v.Sentence())
	}
}

// C102: without a lane, and with one whose targets are local, a run is what it was.
func TestLocalRunsAreUnchanged(t *testing.T) {
	t.Parallel()
	local := hosting
	local.Target = sessionv1.ExecutionTarget_local
	fake := sandboxtest.NewFake()
	var seen []string
	for _, a := range []*App{laneApp(t, nil, lane.Settings{}), laneApp(t, fake, local)} {
		out := a.start(t)
		m := a.stored(t, out.GetExecution().GetMetadata().GetId())
		m.Metadata, m.Spec.SessionId, m.Spec.AgentId, m.Spec.InputId, m.Spec.Model = nil, "", "", "", ""
		seen = append(seen, m.String())
	}
	if seen[0] != seen[1] || len(fake.Calls()) > 0 {
		t.Errorf("they differ, or the driver was called (%d times):\n%s\n%s", len(fake.Calls()), seen[0], seen[1])
	}
}
