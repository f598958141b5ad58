package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

// Subject is a driver and what the suite must see behind it.
type Subject struct {
	// Open opens the driver on the same world each time, as servers do that follow one
	// another. The suite closes what it opens.
	Open func(t *testing.T) sandbox.Provisioner
	// Instances counts what runs for a sandbox now, however often it was ensured.
	Instances func(t *testing.T, k sandbox.Key) int
	// Write and Read reach a file of the workspace. Read answers false where there is none.
	Write func(t *testing.T, k sandbox.Key, name, text string)
	Read  func(t *testing.T, k sandbox.Key, name string) (string, bool)
	// Outlives tells whether running sandboxes outlive the driver that made them.
	Outlives bool
}

// Run runs the suite. Each test gets a world of its own.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"OneHoweverOften":      oneHoweverOften,
		"OneHoweverMany":       oneHoweverMany,
		"DeprovisionIsFinal":   deprovisionIsFinal,
		"StopKeeps":            stopKeeps,
		"ConnectKeepsNothing":  connectKeepsNothing,
		"ScopesAreApart":       scopesAreApart,
		"ClassesAreAlike":      classesAreAlike,
		"ListFindsAll":         listFindsAll,
		"ServersFollow":        serversFollow,
		"EnsureAndDeprovision": ensureAndDeprovision,
		"BadKeys":              badKeys,
		"ACallerWhoLeft":       aCallerWhoLeft,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// env is an ordinary request's.
func env(k sandbox.Key, token string) sandbox.Env {
	return sandbox.NewEnv(k.String(), token, identity.User)
}

func ensure(p sandbox.Provisioner, k sandbox.Key, e sandbox.Env) error {
	switch k.Scope {
	case sandbox.Session:
		return p.EnsureSession(context.Background(), k.ID, e)
	case sandbox.Workflow:
		return p.EnsureWorkflow(context.Background(), k.ID, e)
	}
	return p.CreateConnect(context.Background(), k.ID, e)
}

func open(t *testing.T, s Subject) sandbox.Provisioner {
	t.Helper()
	p := s.Open(t)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// must ensures and cleans up behind the test.
func must(t *testing.T, p sandbox.Provisioner, k sandbox.Key, e sandbox.Env) {
	t.Helper()
	t.Cleanup(func() { _ = p.Deprovision(context.Background(), k) })
	if err := ensure(p, k, e); err != nil {
		t.Fatalf("ensure %s: %v", k, err)
	}
}

func wantState(t *testing.T, p sandbox.Provisioner, k sandbox.Key, want sandbox.State) {
	t.Helper()
	if got, err := p.Probe(context.Background(), k); got != want || err != nil {
		t.Errorf("%s is %q, %v; want %q", k, got, err, want)
	}
}

// C50: absent, one is made and runs. C51: running, nothing happens.
func oneHoweverOften(t *testing.T, s Subject) {
	p := open(t, s)
	k := sandbox.Key{Scope: sandbox.Session, ID: "ses_one"}
	wantState(t, p, k, sandbox.Absent)
	for range 3 {
		must(t, p, k, env(k, "token"))
		wantState(t, p, k, sandbox.Running)
		if n := s.Instances(t, k); n != 1 {
			t.Fatalf("%d run", n)
		}
	}
}

// C51: also when many want it at once.
func oneHoweverMany(t *testing.T, s Subject) {
	p := open(t, s)
	k := sandbox.Key{Scope: sandbox.Workflow, ID: "wfx_many"}
	t.Cleanup(func() { _ = p.Deprovision(context.Background(), k) })
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if err := ensure(p, k, env(k, "token")); err != nil {
				t.Errorf("ensure: %v", err)
			}
		})
	}
	group.Wait()
	if n := s.Instances(t, k); n != 1 {
		t.Errorf("%d run", n)
	}
}

// C52: deprovision ends it. C44: twice, and of what never was, is success. C53: the next
// ensure begins out of nothing that was kept, also without a token.
func deprovisionIsFinal(t *testing.T, s Subject) {
	p := open(t, s)
	k := sandbox.Key{Scope: sandbox.Session, ID: "ses_final"}
	must(t, p, k, env(k, "token"))
	s.Write(t, k, "note.txt", "old")
	for range 2 {
		if err := p.Deprovision(context.Background(), k); err != nil {
			t.Fatalf("deprovision: %v", err)
		}
		wantState(t, p, k, sandbox.Absent)
	}
	if n := s.Instances(t, k); n != 0 {
		t.Errorf("%d still run", n)
	}
	must(t, p, k, env(k, ""))
	wantState(t, p, k, sandbox.Running)
	if text, ok := s.Read(t, k, "note.txt"); ok {
		t.Errorf("the workspace still holds %q", text)
	}
	if err := p.Deprovision(context.Background(), sandbox.Key{Scope: sandbox.Workflow, ID: "never"}); err != nil {
		t.Errorf("deprovision of what never was: %v", err)
	}
}

// Stop ends what runs and keeps the workspace, whatever the class of the caller.
func stopKeeps(t *testing.T, s Subject) {
	p := open(t, s)
	for _, scope := range []sandbox.Scope{sandbox.Session, sandbox.Workflow} {
		k := sandbox.Key{Scope: scope, ID: "x_stop"}
		must(t, p, k, env(k, ""))
		s.Write(t, k, "note.txt", "kept")
		for range 2 {
			if err := p.Stop(context.Background(), k); err != nil {
				t.Fatalf("stop: %v", err)
			}
		}
		if state, err := p.Probe(context.Background(), k); state == sandbox.Running || err != nil {
			t.Errorf("%s is %s after its stop, %v", k, state, err)
		}
		if n := s.Instances(t, k); n != 0 {
			t.Errorf("%d still run", n)
		}
		must(t, p, k, env(k, "another"))
		if text, _ := s.Read(t, k, "note.txt"); text != "kept" {
			t.Errorf("%s: the workspace holds %q", k, text)
		}
	}
}

// A connect sandbox keeps nothing.
func connectKeepsNothing(t *testing.T, s Subject) {
	p := open(t, s)
	k := sandbox.Key{Scope: sandbox.Connect, ID: "req_1"}
	must(t, p, k, env(k, ""))
	wantState(t, p, k, sandbox.Running)
	s.Write(t, k, "note.txt", "gone")
	if err := p.Stop(context.Background(), k); err != nil {
		t.Fatal(err)
	}
	wantState(t, p, k, sandbox.Absent)
	must(t, p, k, env(k, ""))
	if text, ok := s.Read(t, k, "note.txt"); ok {
		t.Errorf("the workspace still holds %q", text)
	}
}

// One id in two scopes is two sandboxes.
func scopesAreApart(t *testing.T, s Subject) {
	p := open(t, s)
	a, b := sandbox.Key{Scope: sandbox.Session, ID: "same"}, sandbox.Key{Scope: sandbox.Workflow, ID: "same"}
	must(t, p, a, env(a, ""))
	must(t, p, b, env(b, ""))
	s.Write(t, a, "note.txt", "a")
	if text, ok := s.Read(t, b, "note.txt"); ok {
		t.Errorf("the other's workspace holds %q", text)
	}
	if err := p.Deprovision(context.Background(), a); err != nil {
		t.Fatal(err)
	}
	wantState(t, p, b, sandbox.Running)
}

// C40: the class of the caller changes nothing: what it keeps is kept.
func classesAreAlike(t *testing.T, s Subject) {
	p := open(t, s)
	for _, class := range []identity.Class{identity.User, "guest", identity.Internal, "Guest "} {
		k := sandbox.Key{Scope: sandbox.Session, ID: "ses_" + fmt.Sprintf("%x", string(class))}
		must(t, p, k, sandbox.NewEnv(k.String(), "", class))
		s.Write(t, k, "note.txt", "kept")
		if err := p.Stop(context.Background(), k); err != nil {
			t.Fatal(err)
		}
		must(t, p, k, sandbox.NewEnv(k.String(), "", class))
		if text, _ := s.Read(t, k, "note.txt"); text != "kept" {
			t.Errorf("class %q: the workspace holds %q", class, text)
		}
	}
}

func listFindsAll(t *testing.T, s Subject) {
	p := open(t, s)
	keys := []sandbox.Key{{Scope: sandbox.Session, ID: "l1"}, {Scope: sandbox.Workflow, ID: "l1"}, {Scope: sandbox.Connect, ID: "l2"}}
	for _, k := range keys {
		must(t, p, k, env(k, ""))
	}
	for _, k := range keys {
		found := find(t, p, k)
		if found == nil || found.State != sandbox.Running || found.Name == "" || found.Started.IsZero() || found.Epoch == 0 {
			t.Errorf("list shows %+v for %s", found, k)
		}
	}
	first := find(t, p, keys[0])
	if err := p.Stop(context.Background(), keys[0]); err != nil {
		t.Fatal(err)
	}
	must(t, p, keys[0], env(keys[0], ""))
	if now := find(t, p, keys[0]); first == nil || now == nil || now.Epoch <= first.Epoch {
		t.Errorf("a start anew has the epoch of the one before: %+v, %+v", first, now)
	}
}

func find(t *testing.T, p sandbox.Provisioner, k sandbox.Key) *sandbox.Found {
	t.Helper()
	all, err := p.List(context.Background())
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	for _, f := range all {
		if f.Key == k {
			return &f
		}
	}
	return nil
}

// The server that follows finds the workspaces of its predecessor, and its sandboxes where
// they outlive it.
func serversFollow(t *testing.T, s Subject) {
	k := sandbox.Key{Scope: sandbox.Session, ID: "ses_follow"}
	p := s.Open(t)
	if err := ensure(p, k, env(k, "")); err != nil {
		t.Fatal(err)
	}
	s.Write(t, k, "note.txt", "kept")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if n := s.Instances(t, k); (n == 1) != s.Outlives || n > 1 {
		t.Errorf("%d run after the server's end", n)
	}
	p = open(t, s)
	must(t, p, k, env(k, ""))
	wantState(t, p, k, sandbox.Running)
	if n := s.Instances(t, k); n != 1 {
		t.Errorf("%d run", n)
	}
	if text, _ := s.Read(t, k, "note.txt"); text != "kept" {
		t.Errorf("the workspace holds %q", text)
	}
}

// Both at once, again and again, end in one of the two states and in no error.
func ensureAndDeprovision(t *testing.T, s Subject) {
	p := open(t, s)
	k := sandbox.Key{Scope: sandbox.Session, ID: "ses_both"}
	t.Cleanup(func() { _ = p.Deprovision(context.Background(), k) })
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				if err := ensure(p, k, env(k, "")); err != nil {
					t.Errorf("ensure: %v", err)
				}
			}
		})
		group.Go(func() {
			for range 3 {
				if err := p.Deprovision(context.Background(), k); err != nil {
					t.Errorf("deprovision: %v", err)
				}
			}
		})
	}
	group.Wait()
	state, err := p.Probe(context.Background(), k)
	if n := s.Instances(t, k); err != nil || (state == sandbox.Running) != (n == 1) || n > 1 {
		t.Errorf("it is %s, %v, and %d run", state, err, n)
	}
}

func badKeys(t *testing.T, s Subject) {
	p := open(t, s)
	if err := p.EnsureSession(context.Background(), "", sandbox.NewEnv("q", "", identity.User)); !errors.Is(err, sandbox.ErrBadID) {
		t.Errorf("a session without an id: %v", err)
	}
}

func aCallerWhoLeft(t *testing.T, s Subject) {
	p := open(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k := sandbox.Key{Scope: sandbox.Session, ID: "ses_left"}
	if err := p.EnsureSession(ctx, k.ID, env(k, "")); err == nil {
		t.Error("an ensure whose caller had left succeeded")
	}
	wantState(t, p, k, sandbox.Absent)
}
