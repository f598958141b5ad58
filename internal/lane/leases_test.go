package lane_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// wire is a line whose program inside answers as the test says.
type wire struct {
	mu        sync.Mutex
	connected bool
	root      string
	deaf      bool // it does not end what it runs
	ended     []string
}

func (w *wire) Open(context.Context) (workspace.Workspace, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connected = true
	return named{name: w.root}, nil
}

func (w *wire) Connected() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.connected
}

func (w *wire) End(ctx context.Context, session, execution string, _ bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf {
		return workspace.ErrFailed
	}
	w.ended = append(w.ended, session+"/"+execution)
	return nil
}

func (*wire) Close() error { return nil }

// named is a folder with a name and nothing else.
type named struct {
	workspace.Workspace
	name string
}

func (n named) Name() string { return n.name }
func (named) Close() error   { return nil }

// place is a database and a world of sandboxes that processes share.
type place struct {
	t     *testing.T
	store *sqlite.Store
	world *sandboxtest.World
	now   atomic.Int64 // nanoseconds since the beginning
}

var beginning = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newPlace(t *testing.T) *place {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &place{t: t, store: s, world: &sandboxtest.World{}}
}

func (p *place) time() time.Time { return beginning.Add(time.Duration(p.now.Load())) }

// process is one with leases.
type process struct {
	*lane.Leases
	fake *sandboxtest.Fake
	wire *wire
}

func (p *place) process(boot, node string) *process {
	x := &process{fake: &sandboxtest.Fake{World: p.world, Image: "image"}, wire: &wire{root: "/workspace"}}
	x.Leases = lane.NewLeases(lane.LeaseOptions{
		Provisioner: x.fake, Store: p.store, Node: node, Boot: boot, Now: p.time, Log: slog.New(slog.DiscardHandler), Poll: time.Millisecond,
		Line: func(sandbox.Key) lane.Line { return x.wire },
	})
	p.t.Cleanup(x.Close)
	return x
}

func (p *place) use(holder string) lane.Use {
	return lane.Use{Session: "s", Execution: "aex_1", Holder: holder, Until: p.time().Add(time.Hour)}
}

var sKey = sandbox.Key{Scope: sandbox.Session, ID: "s"}

func (p *place) row() store.SandboxLease {
	p.t.Helper()
	l, err := p.store.Sandbox(p.t.Context(), store.SandboxKey{Scope: "session", ID: "s"})
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

func (x *process) ensured() (n int) {
	for _, c := range x.fake.Calls() {
		if c.Method == "EnsureSession" {
			n++
		}
	}
	return n
}

// Of all who want a sandbox at once, in two servers that both reach it, one starts it; all of
// them hold it, and when the last one leaves it is idle.
func TestOneStartsASandbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a, b := p.process("a", ""), p.process("b", "")
	var all sync.WaitGroup
	opened := make(chan workspace.Workspace, 40)
	for i := range 20 {
		for _, x := range []*process{a, b} {
			all.Go(func() {
				w, err := x.Open(t.Context(), p.use(fmt.Sprintf("%p-%d", x, i)))
				if err != nil {
					t.Error(err)
					return
				}
				opened <- w
			})
		}
	}
	all.Wait()
	if box := p.world.Box(sKey); box.Starts != 1 || p.row().Epoch != 1 || len(p.row().Holders) != 40 || p.row().Image != "image" {
		t.Errorf("it was started %d times: %+v", box.Starts, p.row())
	}
	close(opened)
	for w := range opened {
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	}
	if l := p.row(); len(l.Holders) != 0 || l.Idle.IsZero() {
		t.Errorf("behind them it is %+v", l)
	}
}

// A start is told by the one that begins it, and by nobody who finds it warm.
func TestAStartIsTold(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.process("a", "node")
	var told []proto.Message
	u := p.use("h")
	u.Prefetch, u.Tell = true, func(m proto.Message) { told = append(told, m) }
	for range 2 {
		w, err := x.Open(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
	}
	if len(told) != 2 || !proto.Equal(told[0], &eventv1.SandboxWarming{Epoch: 1, Prefetch: true}) || !proto.Equal(told[1], &eventv1.SandboxReady{Epoch: 1, Image: "image", Root: "/workspace"}) {
		t.Errorf("told was %v", told)
	}
}

// Who leaves before a start is over holds nothing; the start goes on.
func TestAStartOutlivesWhoWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.process("a", "node")
	begun, goOn := make(chan struct{}, 10), make(chan struct{})
	x.fake.Fail = func(c sandboxtest.Call) error {
		if c.Method == "EnsureSession" {
			begun <- struct{}{}
			<-goOn
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := x.Open(ctx, p.use("h")); done <- err }()
	<-begun
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it answers %v", err)
	}
	if l := p.row(); l.Liveness != store.SandboxWarming || len(l.Holders) != 0 {
		t.Errorf("it is %+v", l)
	}
	close(goOn)
	w, err := x.Open(t.Context(), p.use("other"))
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if l := p.row(); l.Liveness != store.SandboxWarm || l.Epoch != 1 || p.world.Box(sKey).Starts != 1 {
		t.Errorf("then it is %+v", l)
	}
}

// What failed and may pass is proven not to have begun; what somebody has to mend stays what
// it is. Either leaves the lease cold and unheld, so that the next one tries anew.
func TestAStartThatFails(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.process("a", "node")
	var fail error
	x.fake.Fail = func(c sandboxtest.Call) error {
		if c.Method == "EnsureSession" {
			return fail
		}
		return nil
	}
	for _, c := range []struct {
		fail   error
		passes bool
	}{{errors.New("no room"), true}, {sandbox.ErrFailed, true}, {sandbox.ErrUnusable, false}} {
		fail = c.fail
		_, err := x.Open(t.Context(), p.use("h"))
		var unsent *workspace.StartUnavailable
		if errors.As(err, &unsent) != c.passes || !errors.Is(err, c.fail) {
			t.Errorf("%v is %v", c.fail, err)
		}
		if l := p.row(); l.Liveness != store.SandboxCold || len(l.Holders) != 0 {
			t.Errorf("behind it the lease is %+v", l)
		}
	}
	fail = nil
	w, err := x.Open(t.Context(), p.use("h"))
	if err != nil || p.row().Epoch != 4 {
		t.Errorf("the next one: %v, %+v", err, p.row())
	}
	_ = w.Close()
}

// The next process of a server goes on with a start that the one before left, and with a
// sandbox that runs. T22: one whose folder is another one now is refused, in a type of its own.
func TestTheNextProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx := t.Context()
	left, err := p.store.HoldSandbox(ctx, store.SandboxHold{SandboxKey: store.SandboxKey{Scope: "session", ID: "s"}, Holder: store.SandboxHolder{ID: "dead"}, Node: "node", Boot: "dead", Limit: time.Hour, Now: p.time()})
	if err != nil || left.Epoch != 1 {
		t.Fatal(left, err)
	}
	x := p.process("a", "node")
	w, err := x.Open(ctx, p.use("h"))
	if err != nil || p.row().Epoch != 2 {
		t.Fatalf("after a start that was left: %v, %+v", err, p.row())
	}
	_ = w.Close()
	y := p.process("b", "node")
	if w, err = y.Open(ctx, p.use("h")); err != nil || p.row().Epoch != 2 || p.world.Box(sKey).Starts != 1 || y.ensured() != 1 {
		t.Fatalf("what runs: %v, %+v, asked %d times", err, p.row(), y.ensured())
	}
	_ = w.Close()
	p.world.Crash(sKey)
	z := p.process("c", "node")
	if w, err = z.Open(ctx, p.use("h")); err != nil || p.row().Epoch != 3 || p.world.Box(sKey).Starts != 2 {
		t.Fatalf("what ended: %v, %+v", err, p.row())
	}
	_ = w.Close()
	moved := p.process("d", "node")
	moved.wire.root = "/elsewhere"
	var changed *workspace.RootChanged
	if _, err := moved.Open(ctx, p.use("h")); !errors.As(err, &changed) || changed.Was != "/workspace" || changed.Is != "/elsewhere" {
		t.Errorf("another folder is %v", err)
	}
	far := p.process("e", "other")
	if _, err := far.Open(ctx, p.use("h")); !errors.Is(err, lane.ErrElsewhere) || !strings.Contains(err.Error(), "node") || len(far.fake.Calls()) > 0 {
		t.Errorf("from another machine it is %v", err)
	}
}

// Ending reaches what runs inside; one that does not answer loses its sandbox, and with it
// everything that ran there. What does not run is not asked.
func TestEnding(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx := t.Context()
	x := p.process("a", "node")
	if err := x.End(ctx, "s", "aex_1", false); err != nil || len(x.fake.Calls()) > 0 {
		t.Errorf("where there is none: %v, %v", err, x.fake.Calls())
	}
	w, err := x.Open(ctx, p.use("h"))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.End(ctx, "s", "aex_1", false); err != nil || len(x.wire.ended) != 1 || x.wire.ended[0] != "s/aex_1" {
		t.Errorf("it was ended as %v, %v", x.wire.ended, err)
	}
	x.wire.deaf = true
	if err := x.End(ctx, "s", "aex_1", false); err != nil || p.world.Box(sKey).State != sandbox.Stopped || p.row().Liveness != store.SandboxCold {
		t.Errorf("a deaf one: %v, %s, %+v", err, p.world.Box(sKey).State, p.row())
	}
	if err := x.End(ctx, "s", "aex_1", false); err != nil {
		t.Errorf("what is stopped: %v", err)
	}
	_ = w.Close()
	var none *lane.Leases
	if err := none.End(ctx, "s", "", false); err != nil {
		t.Errorf("without leases: %v", err)
	}
}

// A stop waits for nobody and is refused while somebody holds the sandbox; a driver that fails
// leaves it to the next who tries, once the time is over.
func TestStopping(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx := t.Context()
	x := p.process("a", "node")
	w, err := x.Open(ctx, p.use("h"))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Stop(ctx, sKey, lane.Ending{}); !errors.Is(err, store.ErrSandboxHeld) {
		t.Errorf("what is held: %v", err)
	}
	_ = w.Close()
	x.fake.Fail = func(c sandboxtest.Call) error {
		if c.Method == "Stop" {
			panic("no answer")
		}
		return nil
	}
	if err := x.Stop(ctx, sKey, lane.Ending{}); err == nil || p.row().Liveness != store.SandboxDraining {
		t.Errorf("a driver that fails: %v, %+v", err, p.row())
	}
	x.fake.Fail = nil
	if err := x.Stop(ctx, sKey, lane.Ending{}); fault.ReasonOf(err) != "SANDBOX_BUSY" {
		t.Errorf("before its time is over: %v", err)
	}
	p.now.Add(int64(time.Minute))
	if err := x.Stop(ctx, sKey, lane.Ending{}); err != nil || p.row().Liveness != store.SandboxCold {
		t.Errorf("then: %v, %+v", err, p.row())
	}
}

// T84: in placement hands no credential is made for what is inside; a run that the sandbox
// hosts gets one, for whom it is, and nobody's where nobody is known.
func TestWhoGetsACredential(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.process("a", "node")
	w, err := x.Open(t.Context(), p.use("h"))
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if env := p.world.Box(sKey).Env; env != sandbox.NewEnv("session:s", "", identity.Internal) {
		t.Errorf("inside is told %+v", env)
	}
	for _, who := range []string{"ida_1", ""} {
		f := made(t)
		f.ensure(lane.Run{Execution: "e", Session: "s", Org: "lark"}, lane.Caller{Class: identity.User, ID: who})
		if len(f.mint.asked) != 1 || f.mint.asked[0].Caller != who {
			t.Errorf("for %q it is %+v", who, f.mint.asked)
		}
	}
}

// C93: without a lane the end of a workflow removes nothing, and neither does that of a session.
func TestNoLaneRemovesNothing(t *testing.T) {
	t.Parallel()
	var none *lane.Lane
	for _, phase := range []lane.Phase{lane.Completed, lane.Failed, lane.Cancelled, lane.Terminated} {
		none.WorkflowChanged(t.Context(), "w", "IN_PROGRESS", phase)
	}
	none.SessionDeleted(t.Context(), "s")
	if none.Hands() || none.Leases() != nil || lane.New(lane.Options{}) != nil {
		t.Error("there is a lane without a provisioner")
	}
	if err := none.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Who read a lease before its start was over does not start it again, nor make it cold: each
// of many who come and go in the meantime finds it warm.
func TestNobodyComesTooLate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for round := range 20 {
		x := p.process(fmt.Sprint("boot", round), "node")
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				w, err := x.Open(t.Context(), p.use(fmt.Sprint("h", i)))
				if err != nil {
					t.Error(err)
					return
				}
				if l, err := p.store.Sandbox(t.Context(), store.SandboxKey{Scope: "session", ID: "s"}); err != nil || l.Liveness != store.SandboxWarm {
					t.Errorf("an open sandbox is %s, %v", l.Liveness, err)
				}
				_ = w.Close()
			})
		}
		all.Wait()
		if l := p.row(); l.Epoch != int64(round)+1 || p.world.Box(sKey).Starts != round+1 {
			t.Fatalf("round %d: %+v, started %d times", round, l, p.world.Box(sKey).Starts)
		}
		if err := x.Stop(t.Context(), sKey, lane.Ending{}); err != nil {
			t.Fatal(err)
		}
	}
}
