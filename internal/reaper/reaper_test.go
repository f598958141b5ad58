package reaper_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/reaper"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
)

// world is a store, a driver in memory and a clock.
type world struct {
	t     *testing.T
	store *sqlite.Store
	boxes *sandboxtest.World
	now   time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &world{t: t, store: s, boxes: &sandboxtest.World{}, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
}

// server is a process with its driver and its reaper.
func (w *world) server(boot string) (*sandboxtest.Fake, *reaper.Reaper) {
	fake := &sandboxtest.Fake{World: w.boxes}
	log := slog.New(slog.DiscardHandler)
	now := func() time.Time { return w.now }
	leases := lane.NewLeases(lane.LeaseOptions{Provisioner: fake, Store: w.store, Node: "node", Boot: boot, Now: now, Log: log, Line: func(sandbox.Key) lane.Line { return nil }})
	w.t.Cleanup(leases.Close)
	return fake, reaper.New(reaper.Options{Store: w.store, Driver: fake, Leases: leases, Node: "node", Now: now, Log: log})
}

func key(id string) sandbox.Key      { return sandbox.Key{Scope: sandbox.Session, ID: id} }
func row(id string) store.SandboxKey { return store.SandboxKey{Scope: "session", ID: id} }
func (w *world) add(d time.Duration) { w.now = w.now.Add(d) }
func (w *world) must(err error)      { w.t.Helper(); fatal(w.t, err) }
func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// session stores one.
func (w *world) session(id string) {
	w.t.Helper()
	m := &sessionv1.Session{Metadata: &resourcev1.Metadata{Id: id, Org: "default"}, Spec: &sessionv1.SessionSpec{Agent: "a"}}
	data, err := proto.Marshal(m)
	w.must(err)
	w.must(w.store.CreateSession(w.t.Context(), store.NewSession{Root: id, Row: store.Row{
		Kind: resourcev1.ResourceKind_session, ID: id, Org: "default", CreatedAt: w.now, Index: store.IndexOf(m, store.SessionIndex), Data: data,
	}}, nil))
}

// start makes a session's sandbox run, held until a time.
func (w *world) start(f *sandboxtest.Fake, id string, until time.Time) store.SandboxLease {
	w.t.Helper()
	ctx := w.t.Context()
	l, err := w.store.HoldSandbox(ctx, store.SandboxHold{SandboxKey: row(id), Holder: store.SandboxHolder{ID: "h", Until: until}, Node: "node", Boot: "boot", Limit: time.Minute, Now: w.now})
	w.must(err)
	w.must(f.EnsureSession(ctx, id, sandbox.NewEnv("session:"+id, "", identity.Internal)))
	w.must(w.store.WarmedSandbox(ctx, l, w.now))
	return l
}

func (w *world) state(id string) string {
	w.t.Helper()
	state := string(sandbox.Absent)
	if b := w.boxes.Box(key(id)); b != nil {
		state = string(b.State)
	}
	l, err := w.store.Sandbox(w.t.Context(), row(id))
	if errors.Is(err, store.ErrNotFound) {
		return state + ", no lease"
	}
	w.must(err)
	return state + ", " + string(l.Liveness)
}

func (w *world) is(when string, want map[string]string) {
	w.t.Helper()
	for id, state := range want {
		if got := w.state(id); got != state {
			w.t.Errorf("%s %s is %s, want %s", when, id, got, state)
		}
	}
}

func (w *world) pass(r *reaper.Reaper) reaper.Sum {
	w.t.Helper()
	sum := r.Pass(w.t.Context())
	if len(sum.Failed) > 0 {
		w.t.Errorf("it failed: %v", sum.Failed)
	}
	return sum
}

// Idle means that nobody holds it: for so long it goes on, and then its workspace is kept.
// What is held goes on for ever, also when it is old.
func TestIdleAndHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, r := w.server("boot")
	for _, id := range []string{"idle", "held", "again"} {
		w.session(id)
	}
	w.start(f, "idle", w.now.Add(time.Minute))
	w.start(f, "held", w.now.Add(100*time.Hour))
	w.start(f, "again", w.now.Add(time.Minute))
	w.add(2 * time.Minute)
	w.pass(r) // holders whose time is over are forgotten now
	w.add(14 * time.Minute)
	_, err := w.store.HoldSandbox(t.Context(), store.SandboxHold{SandboxKey: row("again"), Holder: store.SandboxHolder{ID: "h", Until: w.now.Add(time.Hour)}, Node: "node", Boot: "boot", Limit: time.Minute, Now: w.now})
	w.must(err)
	w.must(w.store.ReleaseSandbox(t.Context(), row("again"), "h", w.now))
	if sum := w.pass(r); len(sum.Stopped)+len(sum.Removed) > 0 {
		t.Errorf("within the grace it did %+v", sum)
	}
	w.add(time.Minute)
	sum := w.pass(r)
	w.is("then", map[string]string{"idle": "stopped, cold", "held": "running, warm", "again": "running, warm"})
	if !slices.Equal(sum.Stopped, []sandbox.Key{key("idle")}) || len(sum.Removed) > 0 {
		t.Errorf("it did %+v", sum)
	}
	w.add(30 * time.Hour)
	w.pass(r)
	w.is("a day later", map[string]string{"held": "running, warm", "again": "stopped, cold"})
}

// What is too old is stopped as soon as nobody holds it, without a grace; and so is what its
// provider would end soon.
func TestOld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, r := w.server("boot")
	w.session("old")
	w.session("ends")
	w.start(f, "old", w.now.Add(23*time.Hour))
	w.add(22 * time.Hour)
	w.pass(r)
	w.is("before", map[string]string{"old": "running, warm"})
	w.add(2 * time.Hour)
	w.pass(r) // the holder is forgotten as well
	w.is("then", map[string]string{"old": "stopped, cold"})
	l, err := w.store.HoldSandbox(t.Context(), store.SandboxHold{SandboxKey: row("ends"), Holder: store.SandboxHolder{ID: "h"}, Node: "node", Boot: "boot", Limit: time.Minute, Now: w.now})
	w.must(err)
	w.must(f.EnsureSession(t.Context(), "ends", sandbox.NewEnv("q", "", identity.Internal)))
	l.Deadline = w.now.Add(10 * time.Minute)
	w.must(w.store.WarmedSandbox(t.Context(), l, w.now))
	w.must(w.store.ReleaseSandbox(t.Context(), row("ends"), "h", w.now))
	w.pass(r)
	w.is("before its end", map[string]string{"ends": "stopped, cold"})
}

// A sandbox whose session is gone is removed with its lease, and one of another session, of a
// workflow or without a name of ours is not.
func TestOrphans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, r := w.server("boot")
	w.session("kept")
	w.start(f, "kept", w.now.Add(time.Hour))
	w.start(f, "gone", w.now.Add(time.Hour))
	w.must(f.EnsureSession(t.Context(), "unleased", sandbox.NewEnv("q", "", identity.Internal)))
	w.must(f.EnsureWorkflow(t.Context(), "flow", sandbox.NewEnv("q", "", identity.Internal)))
	sum := w.pass(r)
	w.is("then", map[string]string{"kept": "running, warm", "gone": "absent, no lease"})
	if w.boxes.Box(key("unleased")) != nil && w.boxes.Box(key("unleased")).State == sandbox.Running {
		t.Error("what has neither session nor lease runs")
	}
	w.pass(r)
	if w.boxes.Box(key("unleased")) != nil || w.boxes.Box(sandbox.Key{Scope: sandbox.Workflow, ID: "flow"}) == nil {
		t.Error("an orphan is left, or a workflow's sandbox is not")
	}
	if !slices.Contains(sum.Removed, key("gone")) {
		t.Errorf("it did %+v", sum)
	}
}

// A store that does not answer has nothing removed.
func TestWhatIsNotKnownIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, _ := w.server("boot")
	w.start(f, "gone", w.now.Add(time.Hour))
	log := slog.New(slog.DiscardHandler)
	r := reaper.New(reaper.Options{Store: silent{w.store}, Driver: f, Leases: none{}, Node: "node", Now: func() time.Time { return w.now }, Log: log})
	if sum := r.Pass(t.Context()); len(sum.Failed) != 1 || !strings.Contains(sum.Failed[0].Error(), "no answer") {
		t.Errorf("it did %+v", sum)
	}
	w.is("then", map[string]string{"gone": "running, warm"})
}

type silent struct{ *sqlite.Store }

func (silent) Get(context.Context, resourcev1.ResourceKind, string) (store.Row, error) {
	return store.Row{}, errors.New("no answer")
}

type none struct{}

func (none) Stop(context.Context, sandbox.Key, lane.Ending) error {
	return errors.New("nothing is to be ended")
}

// A server that dies at any instant of a start or an end leaves no orphan and no lease that
// nobody may take, after one pass of the next one.
func TestAServerThatDiesLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, dies := range []string{"warming", "ensured", "warm", "draining", "stopped", "removing", "removed"} {
		id := fmt.Sprint("s", i)
		f, _ := w.server("dead" + id)
		if dies != "removing" && dies != "removed" {
			w.session(id)
		}
		ctx := t.Context()
		l, err := w.store.HoldSandbox(ctx, store.SandboxHold{SandboxKey: row(id), Holder: store.SandboxHolder{ID: "dead", Until: time.Time{}}, Node: "node", Boot: "dead" + id, Limit: time.Hour, Now: w.now})
		w.must(err)
		if dies != "warming" {
			w.must(f.EnsureSession(ctx, id, sandbox.NewEnv("q", "", identity.Internal)))
		}
		if dies == "warming" || dies == "ensured" {
			continue
		}
		w.must(w.store.WarmedSandbox(ctx, l, w.now))
		if dies == "warm" {
			continue
		}
		_, err = w.store.DrainSandbox(ctx, store.SandboxDrain{SandboxKey: row(id), Node: "node", Boot: "dead" + id, Limit: time.Hour, Now: w.now})
		w.must(err)
		switch dies {
		case "stopped":
			w.must(f.Stop(ctx, key(id)))
		case "removed":
			w.must(f.Deprovision(ctx, key(id)))
		}
	}
	_, r := w.server("next")
	w.pass(r)
	w.is("after one pass", map[string]string{
		"s0": "absent, cold", "s1": "stopped, cold", "s2": "running, warm", "s3": "stopped, cold", "s4": "stopped, cold",
		"s5": "absent, no lease", "s6": "absent, no lease",
	})
	w.add(15 * time.Minute)
	w.pass(r)
	w.is("after the grace", map[string]string{"s2": "stopped, cold"})
}

// The loop begins with a pass, goes on, and ends with its context.
func TestTheLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, r := w.server("boot")
	removed := make(chan string, 1000)
	f.Fail = func(c sandboxtest.Call) error {
		if c.Method == "Deprovision" {
			removed <- c.Key.ID
		}
		return nil
	}
	w.start(f, "first", w.now.Add(time.Hour))
	r.Every = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	if id := <-removed; id != "first" {
		t.Errorf("it removes %s", id)
	}
	w.must(f.EnsureSession(t.Context(), "second", sandbox.NewEnv("q", "", identity.Internal)))
	if id := <-removed; id != "second" {
		t.Errorf("then it removes %s", id)
	}
	cancel()
	<-done
}

func TestSettings(t *testing.T) {
	t.Parallel()
	env := func(pairs map[string]string) func(string) string {
		return func(name string) string { return pairs[name] }
	}
	if s, err := reaper.FromEnv(env(nil)); err != nil || s.Idle != 15*time.Minute || s.Age != 24*time.Hour {
		t.Errorf("without a word they are %+v, %v", s, err)
	}
	if s, err := reaper.FromEnv(env(map[string]string{reaper.EnvIdle: "90s", reaper.EnvAge: "2h"})); err != nil || s.Idle != 90*time.Second || s.Age != 2*time.Hour {
		t.Errorf("they are %+v, %v", s, err)
	}
	for _, word := range []string{"soon", "-1m", "0s", "721h"} {
		if _, err := reaper.FromEnv(env(map[string]string{reaper.EnvIdle: word})); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s is taken: %v", word, err)
		}
	}
}
