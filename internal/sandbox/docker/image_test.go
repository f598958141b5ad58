package docker_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
)

// one is the container of a sandbox, and there is no other.
func one(t *testing.T, w *world, k sandbox.Key) container.InspectResponse {
	t.Helper()
	all := names(t, w, k)
	if len(all) != 1 {
		t.Fatalf("%s has %d containers", k, len(all))
	}
	c, err := w.engine.Client.ContainerInspect(context.Background(), all[0], client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Container
}

func listed(t *testing.T, p sandbox.Provisioner, k sandbox.Key) sandbox.Found {
	t.Helper()
	all, err := p.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(f sandbox.Found) bool { return f.Key == k })
	if i < 0 {
		t.Fatalf("%s is not listed: %+v", k, all)
	}
	return all[i]
}

// T97: a re-pin of the image changes no sandbox that there is, whether it runs or ended by
// itself; also when the name means another image by now. T98: after a stop, which is what
// reaping does, and after a removal the successor has the new one; after the stop with the
// old workspace. T95, T96: each container says the policy along with the image, however it
// was made.
func TestImageCountsForNewSandboxes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const name, next = "cadre.test/policy:pinned", "cadre.test/policy:next"
	a := w.engine.Image(t, name, "ENV MADE=a")
	b := w.engine.Image(t, next, "ENV MADE=b")
	w.env[docker.EnvImage] = name
	k := session("ses_image")
	p := w.open(t)
	ensure(t, p, k, "")
	if got, _ := shell(t, w.inside(t, k), "echo kept >note && echo written"); got != "written" {
		t.Fatalf("inside: %q", got)
	}
	_ = p.Close()

	w.env[docker.EnvImage] = next
	p = w.open(t) // a server with another pin
	defer func() { _ = p.Close() }()
	has := func(when, id, name string) {
		t.Helper()
		ensure(t, p, k, "")
		c := one(t, w, k)
		if c.Image != id || c.Config.Labels["cadre.dev/image-policy"] != "new_creates_only" || c.Config.Labels["cadre.dev/image"] != name {
			t.Errorf("%s it has image %s and the labels %v, want %s", when, c.Image, c.Config.Labels, id)
		}
		if f := listed(t, p, k); f.Image != name || f.State != sandbox.Running {
			t.Errorf("%s it is listed as %+v", when, f)
		}
	}
	ends := func() {
		t.Helper()
		w.kill(t, p, k)
		if f := listed(t, p, k); f.Image != name || f.State != sandbox.Stopped || !f.Started.IsZero() {
			t.Errorf("ended it is listed as %+v", f)
		}
	}
	has("running", a, name)
	ends()
	has("after it ended", a, name)
	w.engine.Image(t, name, "ENV MADE=c") // the name moves, and the sandbox does not
	ends()
	has("after its name moved", a, name)
	if err := p.Stop(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if f := listed(t, p, k); f.State != sandbox.Stopped || len(names(t, w, k)) != 0 {
		t.Errorf("stopped it is listed as %+v", f)
	}
	has("after a stop", b, next)
	if got, _ := shell(t, w.inside(t, k), "cat note"); got != "kept" {
		t.Errorf("the workspace holds %q", got)
	}
	w.env[docker.EnvImage] = imageName
	other := w.open(t)
	defer func() { _ = other.Close() }()
	if err := other.Deprovision(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	ensure(t, other, k, "")
	if f := listed(t, other, k); f.Image != imageName {
		t.Errorf("made anew it is listed as %+v", f)
	}
}

// kill ends what runs in a sandbox behind its driver's back.
func (w *world) kill(t *testing.T, p sandbox.Provisioner, k sandbox.Key) {
	t.Helper()
	if _, err := w.engine.Client.ContainerKill(t.Context(), one(t, w, k).ID, client.ContainerKillOptions{}); err != nil {
		t.Fatal(err)
	}
	for state := sandbox.Running; state != sandbox.Stopped; {
		var err error
		if state, err = p.Probe(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
}

// A sandbox whose image the engine has lost gets the one that is configured, and starts.
func TestAnImageThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const name = "cadre.test/gone:1"
	w.engine.Image(t, name, "ENV MADE=gone")
	w.env[docker.EnvImage] = name
	k := session("ses_gone")
	p := w.open(t)
	ensure(t, p, k, "")
	w.kill(t, p, k)
	_ = p.Close()
	// By its name: by its id the engine would keep it for the container.
	if _, err := w.engine.Client.ImageRemove(t.Context(), name, client.ImageRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	w.env[docker.EnvImage] = imageName
	p = w.open(t)
	defer func() { _ = p.Close() }()
	ensure(t, p, k, "")
	if f := listed(t, p, k); f.Image != imageName || f.State != sandbox.Running {
		t.Errorf("it is listed as %+v", f)
	}
}

// T99: the image comes from this driver's variable alone: the driver reads no other that
// names an image, and without its own it refuses.
func TestNoOtherDriversImage(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	o := sandbox.Options{Env: func(name string) string {
		read[name] = true
		if name == docker.EnvHost {
			return "unix:///nowhere"
		}
		if strings.Contains(name, "IMAGE") && name != docker.EnvImage {
			return "another/driver:1"
		}
		return ""
	}}
	_, err := docker.Open(t.Context(), o)
	refused(t, err, sandbox.ErrUnusable, docker.EnvImage)
	known := []string{docker.EnvHost, docker.EnvImage, docker.EnvNetwork, sandbox.EnvCPUs, sandbox.EnvDisk, sandbox.EnvMemory, sandbox.EnvPIDs, "DOCKER_HOST"}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if !slices.Contains(known, name) {
			t.Errorf("it reads %s", name)
		}
	}
}
