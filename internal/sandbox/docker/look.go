package docker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// find is the container of a sandbox; nil when there is none. One of that name that is not
// ours is an error.
func (d *driver) find(ctx context.Context, k sandbox.Key) (*container.InspectResponse, error) {
	found, err := d.engine.ContainerInspect(ctx, d.name(k), client.ContainerInspectOptions{})
	switch {
	case errdefs.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, failed(ctx, "found", k, err)
	}
	c := found.Container
	if c.Config == nil || c.State == nil || !d.mine(k, c.Config.Labels) {
		return nil, d.stranger(k, "container")
	}
	return &c, nil
}

func (d *driver) stranger(k sandbox.Key, what string) error {
	return sandbox.ErrFailed.Saying("the sandbox of %s cannot be made: the engine has a %s %s that is not of this installation; remove or rename it",
		k, what, d.name(k))
}

func runs(c *container.InspectResponse) bool { return c.State.Running && !c.State.Paused }

// Probe answers its state.
func (d *driver) Probe(ctx context.Context, k sandbox.Key) (sandbox.State, error) {
	if err := k.Check(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c, err := d.find(ctx, k)
	switch {
	case err != nil:
		return "", err
	case c != nil && runs(c):
		return sandbox.Running, nil
	case c != nil:
		return sandbox.Stopped, nil
	}
	left, err := d.engine.VolumeList(ctx, client.VolumeListOptions{Filters: d.of(k)})
	if err != nil {
		return "", failed(ctx, "found", k, err)
	}
	if len(left.Items) > 0 {
		return sandbox.Stopped, nil
	}
	return sandbox.Absent, nil
}

// List finds what the engine has of this installation, also what is half made.
func (d *driver) List(ctx context.Context) ([]sandbox.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	all := map[sandbox.Key]*sandbox.Found{}
	add := func(labels map[string]string) *sandbox.Found {
		k := keyOf(labels)
		if all[k] == nil {
			all[k] = &sandbox.Found{Key: k, Name: d.name(k), State: sandbox.Stopped}
		}
		f := all[k]
		f.Epoch = max(f.Epoch, epochOf(labels))
		f.Image = cmp.Or(f.Image, labels[labelImage])
		return f
	}
	containers, err := d.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: d.all()})
	if err != nil {
		return nil, unlisted(err)
	}
	for _, c := range containers.Items {
		f := add(c.Labels)
		if c.Labels[labelRole] == roleSandbox && c.State == container.StateRunning {
			f.State, f.Started = sandbox.Running, time.UnixMilli(epochOf(c.Labels)) // each start has a container of its own
		}
	}
	volumes, err := d.engine.VolumeList(ctx, client.VolumeListOptions{Filters: d.all()})
	if err != nil {
		return nil, unlisted(err)
	}
	for _, v := range volumes.Items {
		add(v.Labels)
	}
	found := make([]sandbox.Found, 0, len(all))
	for _, f := range all {
		found = append(found, *f)
	}
	slices.SortFunc(found, func(a, b sandbox.Found) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func unlisted(err error) error {
	return sandbox.ErrFailed.Saying("the Docker engine does not list its sandboxes: %s", sentence(err)).Because(err)
}
