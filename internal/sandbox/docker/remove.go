package docker

import (
	"context"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// Stop ends what runs and removes the container, so that the next start has the image that
// is configured then. Of a connect sandbox nothing stays.
func (d *driver) Stop(ctx context.Context, k sandbox.Key) error {
	if !k.Scope.Keeps() {
		return d.Deprovision(ctx, k)
	}
	if err := k.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	release, err := d.locks.take(ctx, k)
	if err != nil {
		return err
	}
	defer release()
	for n := 0; ; n++ {
		c, err := d.find(ctx, k)
		if c == nil {
			return err
		}
		if err := d.discard(ctx, c.ID); err != nil && !errdefs.IsConflict(err) { // it is being removed
			return failed(ctx, "stopped", k, err)
		}
		if err := pause(ctx, n); err != nil {
			return failed(ctx, "stopped", k, err)
		}
	}
}

// Deprovision removes containers and volumes, also what a server that was killed left half
// made, and the sandbox's line.
func (d *driver) Deprovision(ctx context.Context, k sandbox.Key) error {
	if err := k.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	release, err := d.locks.take(ctx, k)
	if err != nil {
		return err
	}
	defer release()
	for n := 0; ; n++ {
		left, err := d.sweep(ctx, k)
		if err != nil {
			return failed(ctx, "removed", k, err)
		}
		if left == 0 {
			return d.lines.Drop(k)
		}
		if err := pause(ctx, n); err != nil {
			return failed(ctx, "removed", k, err)
		}
	}
}

// sweep removes what it finds and answers how much that was: none is left only when a
// sweep finds none.
func (d *driver) sweep(ctx context.Context, k sandbox.Key) (found int, err error) {
	containers, err := d.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: d.of(k)})
	if err != nil {
		return 0, err
	}
	for _, c := range containers.Items {
		if err := d.discard(ctx, c.ID); err != nil && !errdefs.IsConflict(err) { // it is being removed
			return 0, err
		}
	}
	volumes, err := d.engine.VolumeList(ctx, client.VolumeListOptions{Filters: d.of(k)})
	if err != nil {
		return 0, err
	}
	for _, v := range volumes.Items {
		_, err := d.engine.VolumeRemove(ctx, v.Name, client.VolumeRemoveOptions{})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // it is in use until its container is gone
			return 0, err
		}
	}
	return len(containers.Items) + len(volumes.Items), nil
}

// discard removes a container, whatever it does, with the volumes that have no name.
func (d *driver) discard(ctx context.Context, id string) error {
	_, err := d.engine.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
