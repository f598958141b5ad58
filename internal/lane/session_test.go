package lane_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
)

var sessionKey = sandbox.Key{Scope: sandbox.Session, ID: "s"}

// C55: one call, with the session's queue, the minted token and the class. C38: the queue
// is session:s. Placement runner.
func TestSession(t *testing.T) {
	t.Parallel()
	f := made(t)
	f.ensure(run, user)
	f.onlyCall(t, "EnsureSession", sessionKey, sandbox.NewEnv("session:s", "token-of-e", identity.User))
	f.noStamp(t)
}

// C56: a class goes on as it came, whatever it is. C60: an in-process call is internal.
func TestSessionHandsTheClassOn(t *testing.T) {
	t.Parallel()
	for _, class := range []identity.Class{"guest", "Guest ", identity.Internal, ""} {
		f := made(t)
		f.ensure(run, lane.CallerOf(identity.Caller{ID: "x", Class: class}))
		f.onlyCall(t, "EnsureSession", sessionKey, sandbox.NewEnv("session:s", "token-of-e", class))
	}
}

// C57: the mint gets the caller's id. C58: and what the token is for.
func TestSessionMint(t *testing.T) {
	t.Parallel()
	f := made(t)
	f.ensure(run, user)
	want := lane.MintRequest{Scope: sandbox.Session, Session: "s", Execution: "e", Org: "lark", Caller: "ida_5mvw"}
	if len(f.mint.asked) != 1 || f.mint.asked[0] != want {
		t.Errorf("it is asked for %+v", f.mint.asked)
	}
}

// C61, C42: a disabled lane does nothing and reads nothing.
func TestDisabledLane(t *testing.T) {
	t.Parallel()
	f := made(t, func(o *lane.Options) { o.Provisioner = nil })
	if f.Lane != nil {
		t.Fatal("a lane without a provisioner is there")
	}
	f.ensure(run, user)
	f.SessionDeleted(context.Background(), "s")
	f.WorkflowChanged(context.Background(), "w", "IN_PROGRESS", lane.Completed)
	if err := f.EnsureWorkflow(context.Background(), lane.WorkflowRun{Execution: "w"}, user); err != nil {
		t.Error(err)
	}
	if err := f.Close(context.Background()); err != nil {
		t.Error(err)
	}
	f.noCall(t)
	if f.store.reads+f.store.writes > 0 {
		t.Errorf("it read %d times and wrote %d times", f.store.reads, f.store.writes)
	}
}

// C62: without a session, C63: with another queue, nothing is done and nothing read. In
// placement hands the first tool makes the sandbox, not the start.
func TestSessionSkipsWithoutARead(t *testing.T) {
	t.Parallel()
	hands := everything
	hands.InSandbox = false
	for name, c := range map[string]struct {
		run  lane.Run
		with lane.Settings
	}{
		"C62 no session":  {lane.Run{Execution: "e", Org: "lark"}, everything},
		"C63 an override": {lane.Run{Execution: "e", Session: "s", Queue: "wfexec:w"}, everything},
		"placement hands": {run, hands},
	} {
		f := made(t, settings(c.with))
		f.ensure(c.run, user)
		f.noCall(t)
		f.noStamp(t)
		if f.store.reads > 0 {
			t.Errorf("%s: it read the store", name)
		}
	}
}

// C64: a run whose target is local gets none. An absent target is the server's default.
func TestSessionTargets(t *testing.T) {
	t.Parallel()
	cloud := everything
	cloud.Target = sessionv1.ExecutionTarget_cloud
	for name, c := range map[string]struct {
		with   lane.Settings
		target sessionv1.ExecutionTarget
		calls  int
	}{
		"local":                       {everything, sessionv1.ExecutionTarget_local, 0},
		"local, the default is cloud": {cloud, sessionv1.ExecutionTarget_local, 0},
		"absent, the default local":   {everything, sessionv1.ExecutionTarget_execution_target_unspecified, 0},
		"absent, the default cloud":   {cloud, sessionv1.ExecutionTarget_execution_target_unspecified, 1},
		"cloud, the default local":    {everything, sessionv1.ExecutionTarget_cloud, 1},
	} {
		f := made(t, settings(c.with))
		f.session(t, c.target)
		f.ensure(run, user)
		if n := len(f.fake.Calls()); n != c.calls {
			t.Errorf("%s: %d calls, want %d", name, n, c.calls)
		}
		f.noStamp(t)
	}
}

// C65: a run in the cloud that is sent to the queue of all gets no sandbox, and a warning.
func TestSessionWithGlobalRouting(t *testing.T) {
	t.Parallel()
	global := everything
	global.PerSession = false
	f := made(t, settings(global))
	f.ensure(run, user)
	f.noCall(t)
	f.noStamp(t)
	f.logged(t, "WARN", "execution=e", "session=s", "queue=cadre_runner")
}

// C66: without a mint the sandbox starts without a token.
func TestSessionWithoutMint(t *testing.T) {
	t.Parallel()
	f := made(t, func(o *lane.Options) { o.Mint = nil })
	f.ensure(run, user)
	f.onlyCall(t, "EnsureSession", sessionKey, sandbox.NewEnv("session:s", "", identity.User))
	f.logged(t, "WARN", "without a token", "execution=e")
}

// C67: a driver that fails leaves a line in the log and the cause on the run, C71: and
// changes nothing else of it. C68: the words before it, to the letter.
func TestSessionFailure(t *testing.T) {
	t.Parallel()
	if lane.StampPrefix != "Sandbox provisioning failed: " {
		t.Errorf("the prefix is %q", lane.StampPrefix)
	}
	f := made(t, fails(errors.New("no free node")))
	before := f.store.execution(t, "e")
	f.ensure(run, user)
	f.logged(t, "ERROR", "execution=e", "session=s", `error="no free node"`)
	after := f.store.execution(t, "e")
	if got := after.GetStatus().GetError().GetMessage(); got != "Sandbox provisioning failed: no free node" {
		t.Errorf("the run says %q", got)
	}
	after.Status.Error = nil
	if !proto.Equal(before, after) {
		t.Errorf("more changed:\n%v\n%v", before, after)
	}
}

// C69: what stands there stays. C70: a status that is not there is made. C72: what somebody
// writes at the same time is not lost.
func TestSessionStamp(t *testing.T) {
	t.Parallel()
	broken := errors.New("no free node")
	f := made(t, fails(broken))
	f.store.put(t, "e", &agentexecutionv1.AgentExecution{Status: &agentexecutionv1.AgentExecutionStatus{Error: &agentexecutionv1.ExecutionError{Message: "first"}}})
	f.ensure(run, user)
	if got := f.store.execution(t, "e").GetStatus().GetError().GetMessage(); got != "first" || f.store.writes > 0 {
		t.Errorf("C69: it says %q after %d writes", got, f.store.writes)
	}

	f = made(t, fails(broken))
	f.store.put(t, "e", &agentexecutionv1.AgentExecution{Metadata: &resourcev1.Metadata{Id: "e"}})
	f.ensure(run, user)
	if got := f.store.execution(t, "e").GetStatus().GetError().GetMessage(); got != lane.StampPrefix+"no free node" {
		t.Errorf("C70: it says %q", got)
	}

	f = made(t, fails(broken))
	f.store.between = func() { // committed just before the lane's own update
		m := &agentexecutionv1.AgentExecution{Status: &agentexecutionv1.AgentExecutionStatus{Phase: agentexecutionv1.ExecutionPhase_running, Generation: 9}}
		f.store.put(t, "e", m)
	}
	f.ensure(run, user)
	if s := f.store.execution(t, "e").GetStatus(); s.GetGeneration() != 9 || s.GetPhase() != agentexecutionv1.ExecutionPhase_running || s.GetError() == nil {
		t.Errorf("C72: it is %v", s)
	}
}

// C73: a stamp that cannot be written is logged and nothing more.
func TestSessionStampFails(t *testing.T) {
	t.Parallel()
	f := made(t, fails(errors.New("no free node")))
	f.store.refuse = errors.New("disk full")
	f.ensure(run, user)
	f.logged(t, "ERROR", "execution=e", "disk full", "no free node")
}

// C74: a mint that fails and a session that cannot be read are told like a driver's
// failure. C75: so is what a driver throws that is no error.
func TestSessionOtherFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*lane.Options)
		run    lane.Run
		want   string
	}{
		"C74 the mint":     {func(o *lane.Options) { o.Mint = &minted{fail: errors.New("no signing key")} }, run, "no signing key"},
		"C74 the dispatch": {func(*lane.Options) {}, lane.Run{Execution: "e", Session: "gone"}, "not found"},
		"C75 a word": {func(o *lane.Options) {
			o.Provisioner.(*sandboxtest.Fake).Fail = func(sandboxtest.Call) error { panic("quota 7 of 7") }
		}, run, "quota 7 of 7"},
		"a fault": {fails(fault.New(fault.Unavailable, "X", "for people").Because(errors.New("for the log"))), run, "for people"},
	} {
		f := made(t, c.change)
		f.ensure(c.run, user)
		got := f.store.execution(t, "e").GetStatus().GetError().GetMessage()
		if rest, ok := strings.CutPrefix(got, lane.StampPrefix); !ok || !strings.Contains(rest, c.want) || strings.Contains(rest, "for the log") {
			t.Errorf("%s: the run says %q", name, got)
		}
		f.logged(t, "ERROR", "execution=e")
	}
}

// The stamp is bounded, and holds no token.
func TestStampIsSafe(t *testing.T) {
	t.Parallel()
	f := made(t, fails(errors.New("refused: token-of-e "+strings.Repeat("é", 5000))))
	f.ensure(run, user)
	got := f.store.execution(t, "e").GetStatus().GetError().GetMessage()
	if len(got) > len(lane.StampPrefix)+1024 || !utf8.ValidString(got) {
		t.Errorf("it has %d bytes, valid: %t", len(got), utf8.ValidString(got))
	}
	if strings.Contains(got+f.log.String(), "token-of-e") {
		t.Errorf("the token is told: %.200s", got)
	}
}

// C79: the session is read anew by the step.
func TestSessionIsReadAnew(t *testing.T) {
	t.Parallel()
	f := made(t)
	f.session(t, sessionv1.ExecutionTarget_local)
	f.ensure(run, user)
	f.session(t, sessionv1.ExecutionTarget_cloud)
	f.ensure(run, user)
	if f.store.reads != 2 {
		t.Errorf("it read %d times", f.store.reads)
	}
	f.onlyCall(t, "EnsureSession", sessionKey, sandbox.NewEnv("session:s", "token-of-e", identity.User))
}

// A caller who leaves takes nothing with it: the run is accepted.
func TestSessionOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	f := made(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f.EnsureSession(ctx, run, user)
	if b := f.fake.World.Box(sessionKey); b == nil {
		t.Error("no sandbox was made")
	}
}

// C99: a deleted session's sandbox is removed, in both placements. C101: without an id
// nothing is called. C100: a failure is a line in the log.
func TestSessionDeleted(t *testing.T) {
	t.Parallel()
	for _, inSandbox := range []bool{false, true} {
		s := everything
		s.InSandbox = inSandbox
		f := made(t, settings(s))
		f.SessionDeleted(context.Background(), "")
		f.noCall(t)
		f.SessionDeleted(context.Background(), "s")
		f.onlyCall(t, "Deprovision", sessionKey, sandbox.Env{})
	}
	f := made(t, fails(errors.New("no answer")))
	f.SessionDeleted(context.Background(), "s")
	f.logged(t, "ERROR", "session=s", "no answer", "left over")
}
