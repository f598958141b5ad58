package docker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
)

// refused checks an error and that it names something.
func refused(t *testing.T, err, want error, words ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("it answers %v, want %v", err, want)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

// C51, among servers: two of them that want a sandbox at once get one, absent or stopped.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.open(t), w.elsewhere(t).open(t)
	defer func() { _ = a.Close() }()
	defer func() { _ = b.Close() }()
	k := sandbox.Key{Scope: sandbox.Workflow, ID: "wfx_two"}
	for round := range 3 {
		var group sync.WaitGroup
		for _, p := range []sandbox.Provisioner{a, b, a, b, b, a} {
			group.Go(func() {
				if err := p.EnsureWorkflow(context.Background(), k.ID, sandbox.NewEnv(k.String(), "", identity.User)); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		group.Wait()
		if n := w.running(t, k); n != 1 || len(names(t, w, k)) != 1 {
			t.Fatalf("round %d: %d run of %d", round, n, len(names(t, w, k)))
		}
		if err := a.Stop(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	// Each finds what the other made, and removes it.
	if f := listed(t, b, k); f.State != sandbox.Stopped {
		t.Errorf("the other lists %+v", f)
	}
	if err := b.Deprovision(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if state, err := a.Probe(t.Context(), k); state != sandbox.Absent || err != nil {
		t.Errorf("it is %s, %v", state, err)
	}
}

// Two servers that make and remove one sandbox at once end in a state that is whole, and
// one sweep removes all.
func TestTwoServersAgainstEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.open(t), w.elsewhere(t).open(t)
	defer func() { _ = a.Close() }()
	defer func() { _ = b.Close() }()
	k := session("ses_against")
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range 3 {
				if err := a.EnsureSession(context.Background(), k.ID, sandbox.NewEnv(k.String(), "t", identity.User)); err != nil {
					t.Errorf("ensure: %v", err)
				}
			}
		})
		group.Go(func() {
			for range 3 {
				if err := b.Deprovision(context.Background(), k); err != nil {
					t.Errorf("deprovision: %v", err)
				}
			}
		})
	}
	group.Wait()
	ensure(t, a, k, "")
	if got, exit := shell(t, w.inside(t, k), `touch /workspace/x && echo mine`); got != "mine" {
		t.Errorf("the workspace cannot be written: %q, %+v", got, exit)
	}
	if err := b.Deprovision(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	w.nothing(t)
}

// nothing checks that the engine has nothing of the installation.
func (w *world) nothing(t *testing.T) {
	t.Helper()
	f := client.Filters{}.Add("label", "cadre.dev/owner="+w.owner)
	containers, err := w.engine.Client.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	volumes, err := w.engine.Client.VolumeList(context.Background(), client.VolumeListOptions{Filters: f})
	if err != nil {
		t.Fatal(err)
	}
	if len(containers.Items)+len(volumes.Items) > 0 {
		t.Errorf("left are %+v and %+v", containers.Items, volumes.Items)
	}
}

// A container of a sandbox's name that somebody else made is neither used nor removed.
func TestStrangers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open(t)
	defer func() { _ = p.Close() }()
	k := session("ses_stranger")
	ensure(t, p, k, "")
	name := listed(t, p, k).Name
	if err := p.Deprovision(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	made, err := w.engine.Client.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: name, Config: &container.Config{Image: imageName, Cmd: []string{"sleep", "1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := w.engine.Client.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{}); err != nil {
			t.Errorf("the stranger's container: %v", err)
		}
	}()
	refused(t, p.EnsureSession(t.Context(), k.ID, sandbox.NewEnv("q", "", identity.User)), sandbox.ErrFailed, name, "rename")
	_, err = p.Probe(t.Context(), k)
	refused(t, err, sandbox.ErrFailed, name)
	if err := p.Deprovision(t.Context(), k); err != nil {
		t.Errorf("deprovision: %v", err)
	}
	if all, err := p.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("it lists %+v, %v", all, err)
	}
}

// Installations that share an engine do not see each other, even where ids are the same.
func TestOwnersAreApart(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	a, b := w.open(t), other.open(t)
	defer func() { _ = a.Close() }()
	defer func() { _ = b.Close() }()
	k := session("ses_same")
	ensure(t, a, k, "")
	if state, err := b.Probe(t.Context(), k); state != sandbox.Absent || err != nil {
		t.Errorf("to the other it is %s, %v", state, err)
	}
	ensure(t, b, k, "")
	if err := b.Deprovision(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	other.nothing(t)
	if f := listed(t, a, k); f.State != sandbox.Running {
		t.Errorf("the first is %+v", f)
	}
}

// A network of this machine's own, an engine elsewhere and a bound that is none are refused
// with the variable's name.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		docker.EnvNetwork: "host", docker.EnvHost: "tcp://192.0.2.1:2375", "DOCKER_HOST": "ssh://far", sandbox.EnvMemory: "x",
	} {
		for _, value := range []string{bad, strings.Replace(bad, "host", "container:x", 1)} {
			_, err := docker.Open(t.Context(), sandbox.Options{Env: func(n string) string {
				switch n {
				case name:
					return value
				case docker.EnvImage:
					return "i"
				}
				return ""
			}})
			if err == nil || !strings.Contains(err.Error(), name+"="+value) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
}
