package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/egress"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/hands"
	"github.com/cadre-dev/cadre/internal/hands/handstest"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/identity/operator"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn"
)

// boxes is a world of sandboxes in which servers come and go, on one data folder.
type boxes struct {
	t      *testing.T
	dir    string
	world  *sandboxtest.World
	inside *handstest.Inside
	fail   func(sandboxtest.Call) error
	image  string
	egress string
	idle   time.Duration     // after which the reaper stops one; zero for the usual
	fake   *sandboxtest.Fake // of the newest server
}

func newBoxes(t *testing.T) *boxes {
	t.Helper()
	b := &boxes{t: t, dir: t.TempDir(), world: &sandboxtest.World{}, inside: handstest.New(t)}
	t.Cleanup(b.world.Close)
	return b
}

// server is one in placement hands; stop ends it in order. Sandboxes go on.
func (b *boxes) server() (a *App, stop func()) {
	b.t.Helper()
	a = &App{
		opt:  Options{DataDir: b.dir, Engine: "memory", Version: "test", Turn: turn.Options{Recovery: turn.Recovery{Delays: []time.Duration{10 * time.Millisecond, 10 * time.Millisecond}}}},
		boot: "boot_" + b.t.Name() + time.Now().String(),
	}
	withLane := func(context.Context) error {
		var err error
		if a.egress, err = egress.Parse(b.egress); err != nil {
			return err
		}
		a.lines = a.openLines()
		b.fake = &sandboxtest.Fake{World: b.world, Lines: a.lines, Inside: b.inside.Run, Image: b.image, Fail: func(c sandboxtest.Call) error {
			if b.fail != nil {
				return b.fail(c)
			}
			return nil
		}}
		a.reaping.Idle = b.idle
		a.startLane(b.fake, lane.Settings{}, nil)
		return nil
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			a.close()
		}
	}
	b.t.Cleanup(stop)
	for _, step := range []func(context.Context) error{a.openFolder, a.openProcesses, a.openStore, a.openSearch, withLane, a.openEngine, a.assemble, a.firstStart, a.takeOver} {
		if err := step(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
	return a, stop
}

// agent makes one with tools.
func (a *App) agent(t *testing.T, slug string, tools ...string) {
	t.Helper()
	a.ask(t, "cadre.agentic.agent.v1.AgentService/Create", &agentv1.CreateAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: slug, Org: "default"},
		Spec: &agentv1.AgentSpec{Instructions: "Help whoever asks.", Tools: tools},
	}})
}

// script writes one down and answers the model's name.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(file, []byte("repeat: true\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "scripted:" + file
}

// run begins a session with one turn.
func (a *App) run(t *testing.T, agent, text string) string {
	t.Helper()
	out := a.ask(t, sessions+"RunAgent", &sessionv1.RunAgentRequest{Agent: agent, Message: "go", Model: script(t, text), Approve: agentexecutionv1.ApprovalMode_auto}).(*sessionv1.RunAgentResponse)
	return out.GetSession().GetMetadata().GetId()
}

// send gives a session one more turn.
func (a *App) send(t *testing.T, session, text string) {
	t.Helper()
	a.ask(t, sessions+"SendMessage", &sessionv1.SendMessageRequest{SessionId: session, Message: "go", Model: script(t, text), Approve: agentexecutionv1.ApprovalMode_auto})
}

// await reads a session's log until its n-th event of a type, and answers all until then.
func (a *App) await(t *testing.T, session, typ string, n int) (all []*eventv1.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	frames, err := a.events.Subscribe(ctx, eventlog.Subscription{Session: session, Filter: eventlog.Filter{MaxDepth: -1}})
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range frames {
		if err != nil {
			t.Fatalf("%v, and the log is %v", err, types(all))
		}
		if f.Event == nil {
			continue
		}
		all = append(all, f.Event)
		if f.Event.GetType() == typ {
			n--
		}
		if n == 0 {
			return all
		}
		if typ != "turn.failed" && f.Event.GetType() == "turn.failed" {
			t.Fatalf("the turn failed: %v", f.Event.GetTurnFailed().GetError())
		}
	}
	t.Fatalf("the log ends before %s: %v", typ, types(all))
	return nil
}

func types(all []*eventv1.Event) (names []string) {
	for _, e := range all {
		names = append(names, e.GetType())
	}
	return names
}

// at is where the first event of a type is; -1 for nowhere.
func at(all []*eventv1.Event, typ string) int { return slices.Index(types(all), typ) }

// gone wants the command inside to be gone that keeps the pipe alive open, with all that it started.
func (b *boxes) gone(session string) {
	b.t.Helper()
	f, err := os.OpenFile(filepath.Join(b.inside.Folder(boxOf(session)), "alive"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		_ = f.Close()
	}
	if !errors.Is(err, syscall.ENXIO) {
		b.t.Errorf("what was ended is alive: the pipe gives %v", err)
	}
}

func boxOf(session string) sandbox.Key { return sandbox.Key{Scope: sandbox.Session, ID: session} }

func (a *App) row(t *testing.T, session string) store.SandboxLease {
	t.Helper()
	// What a turn held is free with its settlement, which the log tells first.
	if _, err := a.store.ForgetHolders(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	l, err := a.store.Sandbox(t.Context(), store.SandboxKey{Scope: "session", ID: session})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// called counts the driver's calls of a method.
func (b *boxes) called(method string) (n int) {
	for _, c := range b.fake.Calls() {
		if c.Method == method {
			n++
		}
	}
	return n
}

const worksOnFiles = `turns:
  - steps:
      - text: Let me write that down.
        tools:
          - name: write
            args: {path: a.txt, content: "hello"}
      - tools:
          - name: shell
            args: {command: "cat a.txt; echo ' world' >>a.txt"}
      - text: Done.
`

// A turn's tools work in the session's sandbox, which is started beside the first model
// request: the model's first words are there before the sandbox is.
func TestToolsWorkInTheSandbox(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	spoken := make(chan struct{})
	b.fail = func(c sandboxtest.Call) error {
		if c.Method == "EnsureSession" {
			<-spoken
		}
		return nil
	}
	a, _ := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	a.await(t, session, "agent.message.delta", 1)
	close(spoken)
	all := a.await(t, session, "turn.completed", 1)
	for _, order := range [][2]string{
		{"agent.model.request", "sandbox.warming"}, {"sandbox.warming", "sandbox.ready"}, {"agent.message.delta", "sandbox.ready"}, {"sandbox.ready", "agent.tool.started"},
	} {
		if before, after := at(all, order[0]), at(all, order[1]); before < 0 || after < before {
			t.Errorf("%s is at %d and %s at %d of %v", order[0], before, order[1], after, types(all))
		}
	}
	ready := all[at(all, "sandbox.ready")].GetSandboxReady()
	if w := all[at(all, "sandbox.warming")].GetSandboxWarming(); !w.GetPrefetch() || w.GetEpoch() != 1 || ready.GetEpoch() != 1 || ready.GetRoot() != b.inside.Folder(boxOf(session)) {
		t.Errorf("told were %v and %v", w, ready)
	}
	data, err := os.ReadFile(filepath.Join(b.inside.Folder(boxOf(session)), "a.txt"))
	if err != nil || string(data) != "hello world\n" {
		t.Errorf("inside there is %q, %v", data, err)
	}
	l := a.row(t, session)
	if l.Liveness != store.SandboxWarm || l.Idle.IsZero() || len(l.Holders) != 0 || l.Epoch != 1 || b.called("EnsureSession") != 1 {
		t.Errorf("behind the turn the lease is %+v, and the driver was asked %d times", l, b.called("EnsureSession"))
	}
	env := b.world.Box(boxOf(session)).Env
	if env != sandbox.NewEnv("session:"+session, "", identity.Internal) { // T84: the server itself reaches inside; no credential is made for it
		t.Errorf("inside is told %+v", env)
	}
}

// A turn whose agent has no tool that works on files has no sandbox, and one that calls none
// does not wait for it.
func TestATurnThatNeedsNoSandbox(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	held := make(chan struct{})
	defer close(held)
	b.fail = func(c sandboxtest.Call) error {
		if c.Method == "EnsureSession" {
			<-held
		}
		return nil
	}
	a, _ := b.server()
	a.agent(t, "talker", "fetch", "todo")
	a.agent(t, "writer", "write")
	session := a.run(t, "talker", "turns: [{steps: [{text: Hello.}]}]")
	a.await(t, session, "turn.completed", 1)
	if n := len(b.fake.Calls()); n != 0 {
		t.Errorf("an agent without files cost %d calls of the driver", n)
	}
	session = a.run(t, "writer", "turns: [{steps: [{text: Hello.}]}]")
	all := a.await(t, session, "turn.completed", 1)
	if at(all, "sandbox.ready") >= 0 {
		t.Errorf("the log is %v", types(all))
	}
	if e := all[len(all)-1]; e.GetAssociation() != eventv1.Association_current {
		t.Errorf("the last event is %v", e)
	}
}

// What somebody has to mend ends the turn that needs the sandbox, in words that say so; one
// that needs it for nothing goes on.
func TestASandboxThatCannotBeMade(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	b.fail = func(c sandboxtest.Call) error {
		if c.Method == "EnsureSession" {
			return sandbox.ErrUnusable.Saying("the container engine is not there: start it")
		}
		return nil
	}
	a, _ := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	all := a.await(t, session, "turn.failed", 1)
	told := all[len(all)-1].GetTurnFailed().GetError()
	if told.GetCode() != "sandbox_unusable" || told.GetRetryable() || !strings.Contains(told.GetMessage(), "start it") {
		t.Errorf("the failure is %v", told)
	}
	if failed := at(all, "sandbox.failed"); failed < 0 || !strings.Contains(all[failed].GetSandboxFailed().GetMessage(), "start it") || at(all, "agent.tool.started") >= 0 {
		t.Errorf("the log is %v", types(all))
	}
	if l := a.row(t, session); l.Liveness != store.SandboxCold || len(l.Holders) != 0 {
		t.Errorf("the lease is %+v", l)
	}
	session = a.run(t, "writer", "turns: [{steps: [{text: Hello., chunk: 1, chunk_delay: 20ms}]}]")
	a.await(t, session, "turn.completed", 1)
}

// T19: a sandbox that does not start now is tried again by the turn itself: nothing was sent
// to it. The command runs once in the end.
func TestASandboxThatComesLate(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	tries := 0
	b.fail = func(c sandboxtest.Call) error {
		if c.Method == "EnsureSession" {
			if tries++; tries < 4 { // beside the request, for the tool, and again behind a wait
				return errors.New("no room")
			}
		}
		return nil
	}
	a, _ := b.server()
	a.agent(t, "writer", "shell")
	session := a.run(t, "writer", `turns: [{steps: [{tools: [{name: shell, args: {command: "echo ran >>ran.txt"}}]}, {text: Done.}]}]`)
	all := a.await(t, session, "turn.completed", 1)
	if w := at(all, "turn.waiting"); w < 0 || all[w].GetTurnWaiting().GetError().GetCode() != "sandbox_command_start_unavailable" {
		t.Errorf("the log is %v", types(all))
	}
	if data, err := os.ReadFile(filepath.Join(b.inside.Folder(boxOf(session)), "ran.txt")); err != nil || string(data) != "ran\n" {
		t.Errorf("inside there is %q, %v", data, err)
	}
}

// A server that is started anew reaches the same sandbox in the same epoch, and reads on what
// runs there. One that ended meanwhile is started anew, with what its workspace holds.
func TestASandboxOutlivesItsServer(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	a, stop := b.server()
	a.agent(t, "writer", "shell", "read")
	session := a.run(t, "writer", `turns: [{steps: [{tools: [{name: shell, args: {command: "echo begun; touch there; while ! test -e go; do sleep 0.05; done; echo went", background: true}}]}, {text: Done.}]}]`)
	all := a.await(t, session, "turn.completed", 1)
	process := processIn(t, all)
	stop()
	a, stop = b.server()
	a.send(t, session, `turns: [{steps: [{tools: [{name: shell, args: {command: "touch go"}}]}, {tools: [{name: shell, args: {read: `+process+`, wait_seconds: 20}}]}, {text: Done.}]}]`)
	all = a.await(t, session, "turn.completed", 2)
	if text := lastResult(all); !strings.Contains(text, "went") || !strings.Contains(text, "exit code 0") {
		t.Errorf("the process is read as %q", text)
	}
	if box := b.world.Box(boxOf(session)); box.Starts != 1 || a.row(t, session).Epoch != 1 {
		t.Errorf("it was started %d times, in the epoch %d", box.Starts, a.row(t, session).Epoch)
	}
	stop()
	b.world.Crash(boxOf(session))
	a, _ = b.server()
	a.send(t, session, `turns: [{steps: [{tools: [{name: shell, args: {command: "ls"}}]}, {text: Done.}]}]`)
	all = a.await(t, session, "turn.completed", 3)
	if text := lastResult(all); !strings.Contains(text, "there") {
		t.Errorf("its workspace holds %q", text)
	}
	if box := b.world.Box(boxOf(session)); box.Starts != 2 || a.row(t, session).Epoch != 2 {
		t.Errorf("it was started %d times, in the epoch %d", box.Starts, a.row(t, session).Epoch)
	}
}

func processIn(t *testing.T, all []*eventv1.Event) string {
	t.Helper()
	_, rest, ok := strings.Cut(lastResult(all), "as process ")
	if !ok || len(rest) < 7 {
		t.Fatalf("no process was started: %q", lastResult(all))
	}
	return rest[:7]
}

func lastResult(all []*eventv1.Event) (text string) {
	for _, e := range all {
		if done := e.GetAgentToolCompleted(); done != nil {
			text = done.GetResult()
		}
	}
	return text
}

// A cancel ends what runs inside, and is over when that is proven; a program inside that
// does not answer loses its sandbox.
func TestACancelReachesInside(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	a, _ := b.server()
	a.agent(t, "writer", "shell")
	session := a.run(t, "writer", `turns: [{steps: [{tools: [{name: shell, args: {command: "trap '' TERM; mkfifo alive; exec 3<>alive; echo begun; sleep 1000"}}]}]}]`)
	a.await(t, session, "agent.tool.progress", 1)
	a.ask(t, sessions+"Cancel", &sessionv1.CancelRequest{Id: session})
	all := a.await(t, session, "turn.cancelled", 1)
	b.gone(session)
	if at(all, "turn.cancelling") >= 0 {
		t.Errorf("the log is %v", types(all))
	}
	if l := a.row(t, session); l.Liveness != store.SandboxWarm || len(l.Holders) != 0 {
		t.Errorf("the lease is %+v", l)
	}
}

// A session that names a folder of the server's machine is refused, and the sentence says
// what to do. The folder inside is the one that cadre-hands takes.
func TestHostFoldersAreRefused(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	a, _ := b.server()
	a.agent(t, "writer", "shell")
	r := &pipeline.Request{Caller: identity.Caller{ID: operator.ID, Class: identity.Internal}, Procedure: "/" + sessions + "RunAgent", Org: "default", Message: &sessionv1.RunAgentRequest{
		Agent: "writer", Message: "go", Model: script(t, "turns: [{steps: [{text: Hello.}]}]"),
		Workspace: &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: t.TempDir()}}},
	}}
	err := a.verb(t, sessions+"RunAgent").Run(t.Context(), r)
	if fault.ReasonOf(err) != "HOST_FOLDER_WITH_SANDBOXES" || !strings.Contains(fault.From(err).Message, "leave the workspace out") {
		t.Errorf("it answers %v", err)
	}
	if lane.Folder != hands.DefaultRoot {
		t.Errorf("agents are told of %s, and inside it is %s", lane.Folder, hands.DefaultRoot)
	}
}

// A deleted session takes its sandbox and its lease with it.
func TestADeletedSessionLeavesNoLease(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	a, _ := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	a.await(t, session, "turn.completed", 1)
	a.ask(t, sessions+"Delete", &resourcev1.DeleteRequest{Ref: session})
	if _, err := a.store.Sandbox(t.Context(), store.SandboxKey{Scope: "session", ID: session}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the lease is still there: %v", err)
	}
	if b.world.Box(boxOf(session)) != nil {
		t.Error("the sandbox is still there")
	}
}

// T95, T97: an image that was changed is for new sandboxes only: one that runs keeps its own,
// however often it is used. T98: what was stopped starts on the new one. T96: beside a model
// request or for a tool, a sandbox is acquired the same way.
func TestAnImageIsForNewSandboxes(t *testing.T) {
	t.Parallel()
	const again = `turns: [{steps: [{tools: [{name: shell, args: {command: "ls"}}]}, {text: Done.}]}]`
	b := newBoxes(t)
	b.image = "a"
	a, stop := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	all := a.await(t, session, "turn.completed", 1)
	if got := all[at(all, "sandbox.ready")].GetSandboxReady().GetImage(); got != "a" {
		t.Errorf("the log says that the image is %q", got)
	}
	stop()
	b.image = "b"
	a, _ = b.server()
	a.send(t, session, again)
	a.await(t, session, "turn.completed", 2)
	if got := a.row(t, session); got.Image != "a" || b.world.Box(boxOf(session)).Image != "a" || got.Epoch != 1 {
		t.Errorf("a sandbox that runs is rotated: %+v", got)
	}
	if err := a.lane.Leases().Stop(t.Context(), boxOf(session), lane.Ending{}); err != nil {
		t.Fatal(err)
	}
	a.send(t, session, again)
	a.await(t, session, "turn.completed", 3)
	if got := a.row(t, session); got.Image != "b" || got.Epoch != 2 {
		t.Errorf("the next one is %+v", got)
	}
	early, late := &sandboxtest.Fake{World: &sandboxtest.World{}, Image: "b"}, b.fake.Calls()
	if err := early.EnsureSession(t.Context(), session, sandbox.NewEnv("session:"+session, "", identity.Internal)); err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(late, func(c sandboxtest.Call) bool { return c.Method == "EnsureSession" }); late[i] != early.Calls()[0] {
		t.Errorf("it is asked for as %+v, want %+v", late[i], early.Calls()[0])
	}
}
