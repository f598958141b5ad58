package lane_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
)

var (
	workflowKey = sandbox.Key{Scope: sandbox.Workflow, ID: "w"}
	cloudRun    = lane.WorkflowRun{Execution: "w", Org: "lark", Target: sessionv1.ExecutionTarget_cloud}
)

// C80: one call, with the execution's queue, the token and the class. C38: the queue is
// wfexec:w. C81: a guest stays one. C82: what the mint is asked for.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	for _, class := range []identity.Class{identity.User, "guest"} {
		f := made(t)
		if err := f.EnsureWorkflow(context.Background(), cloudRun, lane.Caller{Class: class, ID: "ida_1"}); err != nil {
			t.Fatal(err)
		}
		f.onlyCall(t, "EnsureWorkflow", workflowKey, sandbox.NewEnv("wfexec:w", "token-of-w", class))
		want := lane.MintRequest{Scope: sandbox.Workflow, Execution: "w", Org: "lark", Caller: "ida_1"}
		if len(f.mint.asked) != 1 || f.mint.asked[0] != want {
			t.Errorf("the mint is asked for %+v", f.mint.asked)
		}
		if f.store.reads > 0 {
			t.Error("it read the store")
		}
	}
}

// C83: a local target, C84: another routing, C85: no id: nothing is done. The disabled
// lane is in TestDisabledLane.
func TestWorkflowSkips(t *testing.T) {
	t.Parallel()
	global, hands := everything, everything
	global.PerExecution, hands.InSandbox = false, false
	for name, c := range map[string]struct {
		run  lane.WorkflowRun
		with lane.Settings
	}{
		"C83 local":               {lane.WorkflowRun{Execution: "w", Target: sessionv1.ExecutionTarget_local}, everything},
		"C83 the default's local": {lane.WorkflowRun{Execution: "w"}, everything},
		"C84 global routing":      {cloudRun, global},
		"C85 no id":               {lane.WorkflowRun{Target: sessionv1.ExecutionTarget_cloud}, everything},
		"placement hands":         {cloudRun, hands},
	} {
		f := made(t, settings(c.with))
		if err := f.EnsureWorkflow(context.Background(), c.run, user); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.noCall(t)
	}
}

// chain is a workflow's create and recover as far as the lane cares: what is stored and
// started comes behind the sandbox. The nouns of workflows repeat it end to end.
type chain struct {
	lane    *lane.Lane
	stored  []string
	started []string
	history []string // what the orchestrator recorded
}

func (c *chain) create(r lane.WorkflowRun) error {
	if err := c.lane.EnsureWorkflow(context.Background(), r, user); err != nil {
		return err
	}
	c.stored = append(c.stored, r.Execution)
	return c.start(r)
}

func (c *chain) recover(r lane.WorkflowRun) error {
	if err := c.lane.EnsureWorkflow(context.Background(), r, user); err != nil {
		return err
	}
	return c.start(r)
}

func (c *chain) start(r lane.WorkflowRun) error {
	c.started = append(c.started, r.Execution)
	c.history = append(c.history, "started", "ran")
	return nil
}

// end is each place that writes a terminal phase.
func (c *chain) end(execution string, phase lane.Phase) {
	c.history = append(c.history, "ended")
	c.lane.WorkflowChanged(context.Background(), execution, "IN_PROGRESS", phase)
}

// C86: a driver or a mint that fails refuses with UNAVAILABLE and the words of the contract.
// C87: nothing is stored or started then. C89: a recover is refused alike.
func TestWorkflowFailure(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*lane.Options){
		"driver": fails(errors.New("no free node")),
		"mint":   func(o *lane.Options) { o.Mint = &minted{fail: errors.New("no signing key")} },
	} {
		f := made(t, change)
		c := &chain{lane: f.Lane}
		for verb, err := range map[string]error{"create": c.create(cloudRun), "recover": c.recover(cloudRun)} {
			var told *fault.Fault
			if !errors.As(err, &told) || told.Code != fault.Unavailable || told.Message != "failed to provision workflow sandbox" {
				t.Errorf("%s, %s: %v", name, verb, err)
			}
		}
		if len(c.stored)+len(c.started) > 0 {
			t.Errorf("%s: stored %v, started %v", name, c.stored, c.started)
		}
		f.logged(t, "ERROR", "execution=w")
	}
}

// C88: a recover makes a sandbox anew before it starts: the old one went with the failure.
func TestWorkflowRecover(t *testing.T) {
	t.Parallel()
	f := made(t)
	c := &chain{lane: f.Lane}
	if err := c.create(cloudRun); err != nil {
		t.Fatal(err)
	}
	c.end("w", lane.Failed)
	_ = f.Close(context.Background())
	if b := f.fake.World.Box(workflowKey); b != nil {
		t.Errorf("it is left over: %+v", b)
	}
	seen := 0
	f.fake.Fail = func(call sandboxtest.Call) error {
		if call.Method == "EnsureWorkflow" {
			seen = len(c.started)
		}
		return nil
	}
	if err := c.recover(cloudRun); err != nil || seen != 1 || len(c.started) != 2 {
		t.Errorf("%v: %d were started when the sandbox was made, %v now", err, seen, c.started)
	}
}

// C97: what the orchestrator records is the same with sandboxes and without.
func TestWorkflowHistoryIsTheSame(t *testing.T) {
	t.Parallel()
	var histories []string
	for _, with := range []bool{false, true} {
		f := made(t, func(o *lane.Options) {
			if !with {
				o.Provisioner = nil
			}
		})
		c := &chain{lane: f.Lane}
		if err := c.create(cloudRun); err != nil {
			t.Fatal(err)
		}
		c.end("w", lane.Completed)
		_ = f.Close(context.Background())
		histories = append(histories, strings.Join(c.history, ","))
	}
	if histories[0] != histories[1] {
		t.Errorf("without %s, with %s", histories[0], histories[1])
	}
}

// C90: each end removes the sandbox, once. C91: the same phase again and C92: one in which
// it goes on do not. C96: whichever place tells it, and told twice.
func TestWorkflowEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		previous, current lane.Phase
		want              int
	}{
		{"IN_PROGRESS", lane.Completed, 1},
		{"IN_PROGRESS", lane.Failed, 1},
		{"IN_PROGRESS", lane.Cancelled, 1},
		{"PENDING", lane.Terminated, 1},
		{lane.Completed, lane.Completed, 0},
		{lane.Failed, lane.Failed, 0},
		{"PENDING", "IN_PROGRESS", 0},
		{"IN_PROGRESS", "completed", 0},
		{"IN_PROGRESS", "", 0},
	} {
		f := made(t)
		f.WorkflowChanged(context.Background(), "w", c.previous, c.current)
		f.WorkflowChanged(context.Background(), "", c.previous, c.current)
		_ = f.Close(context.Background())
		if n := len(f.fake.Calls()); n != c.want {
			t.Errorf("%s → %s: %d calls", c.previous, c.current, n)
		}
		if c.want == 1 {
			f.logged(t, "INFO", "execution=w", "phase="+string(c.current))
		}
	}
	f := made(t)
	for range 3 { // the lifecycle, the orchestrator and UpdateStatus
		f.WorkflowChanged(context.Background(), "w", "IN_PROGRESS", lane.Cancelled)
	}
	_ = f.Close(context.Background())
	if strings.Contains(f.log.String(), "ERROR") {
		t.Errorf("repeats do harm:\n%s", f.log)
	}
}

// C94: the observer answers before the removal has ended.
func TestWorkflowEndsWaitForNobody(t *testing.T) {
	t.Parallel()
	release, began := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f := made(t, func(o *lane.Options) {
		o.Provisioner.(*sandboxtest.Fake).Fail = func(sandboxtest.Call) error {
			once.Do(func() { close(began) })
			<-release
			return nil
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	f.WorkflowChanged(ctx, "w", "IN_PROGRESS", lane.Completed) // returns while the driver is held
	<-began
	cancel() // whoever wrote the phase is gone
	close(release)
	_ = f.Close(context.Background())
	f.logged(t, "INFO", "execution=w", "phase=COMPLETED")
}

// C95: a removal that fails is logged as a possible leak and not tried again. C98: one
// whose end nobody told is left, and another end or delete of it still works.
func TestWorkflowEndFails(t *testing.T) {
	t.Parallel()
	f := made(t, fails(errors.New("no answer")))
	f.WorkflowChanged(context.Background(), "w", "IN_PROGRESS", lane.Completed)
	_ = f.Close(context.Background())
	if n := len(f.fake.Calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
	f.logged(t, "ERROR", "execution=w", "no answer", "left over")

	f = made(t)
	c := &chain{lane: f.Lane}
	if err := c.create(cloudRun); err != nil {
		t.Fatal(err)
	}
	if b := f.fake.World.Box(workflowKey); b == nil || b.State != sandbox.Running {
		t.Errorf("C98: an execution whose end was never persisted has %+v", b)
	}
	c.end("w", lane.Terminated)
	_ = f.Close(context.Background())
	if b := f.fake.World.Box(workflowKey); b != nil {
		t.Errorf("C98: %+v is left", b)
	}
}

// C59: the token of a run is the execution's, whoever the caller is.
func TestRunTokens(t *testing.T) {
	t.Parallel()
	now := clock()
	m := &lane.RunTokens{Key: []byte("0123456789abcdef0123456789abcdef"), Now: func() time.Time { return now }}
	a, err := m.Mint(context.Background(), lane.MintRequest{Execution: "aex_1", Caller: "a"})
	b, berr := m.Mint(context.Background(), lane.MintRequest{Execution: "aex_1", Caller: "b"})
	if err != nil || berr != nil || a != b || !strings.HasPrefix(a, "cdr_run_") {
		t.Fatalf("%s, %v and %s, %v", a, err, b, berr)
	}
	if x, err := m.Execution(a); x != "aex_1" || err != nil {
		t.Errorf("it is %q's, %v", x, err)
	}
	other := &lane.RunTokens{Key: []byte("another key of the same length.."), Now: m.Now}
	for name, try := range map[string]func() (string, error){
		"another key":   func() (string, error) { return other.Execution(a) },
		"a changed one": func() (string, error) { return m.Execution(a[:len(a)-2] + "AA") },
		"no signature":  func() (string, error) { return m.Execution(strings.SplitN(a, ".", 2)[0]) },
		"no prefix":     func() (string, error) { return m.Execution(strings.TrimPrefix(a, "cdr_run_")) },
		"nothing":       func() (string, error) { return m.Execution("") },
	} {
		if x, err := try(); !errors.Is(err, lane.ErrBadToken) {
			t.Errorf("%s: %q, %v", name, x, err)
		}
	}
	now = now.Add(lane.RunTokenTime - time.Second)
	if _, err := m.Execution(a); err != nil {
		t.Errorf("in its last second: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := m.Execution(a); !errors.Is(err, lane.ErrBadToken) {
		t.Errorf("after its time: %v", err)
	}
	if _, err := m.Mint(context.Background(), lane.MintRequest{}); err == nil {
		t.Error("a token of no execution is made")
	}
}
