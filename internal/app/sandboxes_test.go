package app

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	sandboxv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/sandbox/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/identity/operator"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
)

const boxService = "cadre.agentic.sandbox.v1.SandboxService/"

// try calls a verb as somebody, also one that streams, and answers what it sent or its answer.
func (a *App) try(t *testing.T, ctx context.Context, caller identity.Caller, procedure string, m proto.Message, send func(proto.Message) error) (proto.Message, error) { //nolint:revive // a test comes first
	t.Helper()
	v := a.verb(t, procedure)
	r := &pipeline.Request{Caller: caller, Procedure: "/" + procedure, Message: m, Org: "default"}
	if err := v.Run(ctx, r); err != nil {
		return nil, err
	}
	if v.Stream == nil {
		return r.Answer, nil
	}
	return nil, v.Stream(ctx, r, send)
}

var operatorCaller = identity.Caller{ID: operator.ID, Class: identity.User}

// ran is what a command printed and how it ended.
func (a *App) ran(t *testing.T, session, command string) (text string, exit *sandboxv1.ExecSandboxExit) {
	t.Helper()
	var printed bytes.Buffer
	_, err := a.try(t, t.Context(), operatorCaller, boxService+"Exec", &sandboxv1.ExecSandboxRequest{Id: session, Command: command}, func(m proto.Message) error {
		out := m.(*sandboxv1.ExecSandboxOutput)
		printed.Write(out.GetText())
		exit = out.GetExit()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return printed.String(), exit
}

// The operator sees sandboxes, runs commands in them, stops and collects them; nobody else does.
func TestTheOperatorLooksAfterSandboxes(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	a, _ := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	a.await(t, session, "turn.completed", 1)

	a.row(t, session)
	all := a.ask(t, boxService+"List", &sandboxv1.ListSandboxesRequest{}).(*sandboxv1.ListSandboxesResponse)
	if len(all.GetSandboxes()) != 1 {
		t.Fatalf("there are %v", all)
	}
	got := all.GetSandboxes()[0]
	if got.GetId() != session || got.GetLiveness() != sandboxv1.SandboxLiveness_warm || got.GetState() != "running" || !got.GetConnected() || got.GetEpoch() != 1 || got.GetIdleSince() == nil || got.GetName() != sandbox.Name(boxOf(session)) || got.GetNode() != "" {
		t.Errorf("it is %v", got)
	}
	if text, exit := a.ran(t, session, "cat a.txt; echo more >&2; exit 7"); text != "hello world\nmore\n" || exit.GetCode() != 7 {
		t.Errorf("the command printed %q and ended as %v", text, exit)
	}
	stopped := a.ask(t, boxService+"Stop", &sandboxv1.StopSandboxRequest{Id: session}).(*sandboxv1.Sandbox)
	if stopped.GetLiveness() != sandboxv1.SandboxLiveness_cold || stopped.GetState() != "stopped" {
		t.Errorf("stopped, it is %v", stopped)
	}
	if text, _ := a.ran(t, session, "cat a.txt"); text != "hello world\n" || a.row(t, session).Epoch != 2 {
		t.Errorf("started again, its workspace has %q, in the epoch %d", text, a.row(t, session).Epoch)
	}
	if out := a.ask(t, boxService+"Collect", &sandboxv1.CollectSandboxesRequest{}).(*sandboxv1.CollectSandboxesResponse); len(out.GetStopped())+len(out.GetRemoved())+len(out.GetFailed()) > 0 {
		t.Errorf("there was nothing to collect, and it did %v", out)
	}
	a.ask(t, boxService+"Stop", &sandboxv1.StopSandboxRequest{Id: session, Remove: true})
	if _, err := a.try(t, t.Context(), operatorCaller, boxService+"Get", &sandboxv1.GetSandboxRequest{Id: session}, nil); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("removed, it gives %v", err)
	}
	if _, err := a.try(t, t.Context(), operatorCaller, boxService+"Exec", &sandboxv1.ExecSandboxRequest{Id: "ses_none", Command: "ls"}, nil); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a command in no session gives %v", err)
	}
	for verb, m := range map[string]proto.Message{
		"List": &sandboxv1.ListSandboxesRequest{}, "Get": &sandboxv1.GetSandboxRequest{Id: session}, "Exec": &sandboxv1.ExecSandboxRequest{Id: session, Command: "ls"},
		"Stop": &sandboxv1.StopSandboxRequest{Id: session}, "Collect": &sandboxv1.CollectSandboxesRequest{},
	} {
		if _, err := a.try(t, t.Context(), identity.Caller{ID: "somebody", Class: identity.User}, boxService+verb, m, nil); fault.CodeOf(err) != fault.PermissionDenied {
			t.Errorf("%s lets anybody: %v", verb, err)
		}
	}
}

// What is in use is stopped with force alone, and a command ends with the call that ran it.
func TestACommandFromOutsideHoldsTheSandbox(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	a, _ := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	a.await(t, session, "turn.completed", 1)
	ctx, leave := context.WithCancel(t.Context())
	begun, left := make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		_, err := a.try(t, ctx, operatorCaller, boxService+"Exec", &sandboxv1.ExecSandboxRequest{Id: session, Command: "trap '' TERM; mkfifo alive; exec 3<>alive; echo begun; sleep 1000"}, func(proto.Message) error {
			if first {
				close(begun)
			}
			first = false
			return nil
		})
		left <- err
	}()
	<-begun
	if _, err := a.try(t, t.Context(), operatorCaller, boxService+"Stop", &sandboxv1.StopSandboxRequest{Id: session}, nil); fault.ReasonOf(err) != "SANDBOX_HELD" || !strings.Contains(err.Error(), "force") {
		t.Errorf("a sandbox in use is stopped: %v", err)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ends with %v", err)
	}
	b.gone(session)
	if l := a.row(t, session); len(l.Holders) != 0 || l.Idle.IsZero() {
		t.Errorf("it is held by %v", l.Holders)
	}
}

// A server without sandboxes says so.
func TestNoSandboxes(t *testing.T) {
	t.Parallel()
	a := assembled(t)
	if all := a.ask(t, boxService+"List", &sandboxv1.ListSandboxesRequest{}).(*sandboxv1.ListSandboxesResponse); all.GetDriver() != "" || len(all.GetSandboxes()) > 0 {
		t.Errorf("there are %v", all)
	}
	for verb, m := range map[string]proto.Message{
		"Get": &sandboxv1.GetSandboxRequest{Id: "s"}, "Exec": &sandboxv1.ExecSandboxRequest{Id: "s", Command: "ls"}, "Stop": &sandboxv1.StopSandboxRequest{Id: "s"}, "Collect": &sandboxv1.CollectSandboxesRequest{},
	} {
		if _, err := a.try(t, t.Context(), operatorCaller, boxService+verb, m, nil); fault.ReasonOf(err) != "SANDBOXES_OFF" {
			t.Errorf("%s gives %v", verb, err)
		}
	}
}

// The reaper of a server stops what was idle for its time.
func TestTheServersReaper(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	stopped := make(chan struct{}, 10)
	b.fail = func(c sandboxtest.Call) error {
		if c.Method == "Stop" {
			stopped <- struct{}{}
		}
		return nil
	}
	b.idle = time.Millisecond
	a, _ := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	a.await(t, session, "turn.completed", 1)
	if err := a.reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-stopped
	a.send(t, session, `turns: [{steps: [{tools: [{name: shell, args: {command: "cat a.txt"}}]}, {text: Done.}]}]`)
	if text := lastResult(a.await(t, session, "turn.completed", 2)); !strings.Contains(text, "hello world") {
		t.Errorf("the workspace has %q", text)
	}
}
