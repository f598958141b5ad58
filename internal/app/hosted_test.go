package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
)

// A run that its sandbox would host is refused by name and never runs on the server instead.
// C76: where the sandbox could not be made and no runner takes the run, the cause that was
// written onto it stands, and not that nobody came.
func TestARunThatNobodyHosts(t *testing.T) {
	t.Parallel()
	b := newBoxes(t)
	b.settings = hosting
	a, _ := b.server()
	a.agent(t, "writer", "write", "shell")
	session := a.run(t, "writer", worksOnFiles)
	all := a.await(t, session, "turn.failed", 1)
	if told := all[len(all)-1].GetTurnFailed().GetError(); told.GetCode() != "sandbox_runner_not_built" || !strings.Contains(told.GetMessage(), lane.EnvPlacement) {
		t.Errorf("it ends with %v", told)
	}
	if at(all, "agent.model.request") >= 0 {
		t.Errorf("the log is %v", types(all))
	}

	fake := sandboxtest.NewFake()
	fake.Fail = func(sandboxtest.Call) error { return errors.New("no free node") }
	a = laneApp(t, fake, hosting)
	session = a.start(t).GetSession().GetMetadata().GetId()
	if err := a.takeOver(t.Context()); err != nil { // only now somebody looks for work
		t.Fatal(err)
	}
	all = a.await(t, session, "turn.failed", 1)
	e := all[len(all)-1]
	status := a.stored(t, e.GetExecutionId()).GetStatus()
	if status.GetError().GetMessage() != "Sandbox provisioning failed: no free node" || status.GetError().GetCode() != lane.StampCode {
		t.Errorf("the run has the error %v, and the log says %v", status.GetError(), e.GetTurnFailed().GetError())
	}
}
