package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// tries bounds how often an ensure begins anew because another server changed the sandbox
// meanwhile.
const tries = 60

// ensure makes a sandbox run.
func (d *driver) ensure(ctx context.Context, k sandbox.Key, env sandbox.Env) error {
	if err := k.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ensureTime)
	defer cancel()
	release, err := d.locks.take(ctx, k)
	if err != nil {
		return err
	}
	defer release()
	dir, err := d.lines.Open(k)
	if err != nil {
		return err
	}
	file, err := d.hands(d.facts.arch)
	if err != nil {
		return err
	}
	f := d.form(k, env, dir, file)
	for n := range tries {
		runs, err := d.advance(ctx, f)
		if runs || err != nil {
			return err
		}
		if err := pause(ctx, n); err != nil {
			return failed(ctx, "made", k, err)
		}
	}
	return sandbox.ErrFailed.Saying("the sandbox of %s was not made: another server changes it over and over", k).Retry()
}

// advance brings a sandbox from the state in which it is to running. False without an
// error: somebody else changed it meanwhile.
func (d *driver) advance(ctx context.Context, f *form) (runs bool, err error) {
	c, err := d.find(ctx, f.key)
	switch {
	case err != nil:
		return false, err
	case c == nil:
		return d.fresh(ctx, f)
	case c.State.Paused:
		_, err := d.engine.ContainerUnpause(ctx, c.ID, client.ContainerUnpauseOptions{})
		return d.outcome(ctx, f.key, err)
	case c.State.Running:
		return true, nil
	case c.State.Status == container.StateCreated && c.Config.Labels[labelForm] == f.digest():
		// A server was killed before it started this one, or is about to.
		return d.start(ctx, f, c.ID, imageOf(c.Config.Labels), true)
	}
	return d.again(ctx, f, c)
}

// fresh makes the container of a sandbox that has none, from the image that is configured.
// A volume that is there is used.
func (d *driver) fresh(ctx context.Context, f *form) (bool, error) {
	if f.key.Scope.Keeps() {
		v, err := d.engine.VolumeInspect(ctx, f.name, client.VolumeInspectOptions{})
		switch {
		case err == nil && !d.mine(f.key, v.Volume.Labels):
			return false, d.stranger(f.key, "volume")
		case err != nil && !errdefs.IsNotFound(err):
			return false, failed(ctx, "made", f.key, err)
		}
	}
	i, err := d.elect(ctx, f.key, image{})
	if err != nil {
		return false, err
	}
	return d.make(ctx, f, i, 0, true)
}

// again makes the container anew of a sandbox that ended by itself: with the image that it
// had and with its volume.
func (d *driver) again(ctx context.Context, f *form, old *container.InspectResponse) (bool, error) {
	i, err := d.elect(ctx, f.key, imageOf(old.Config.Labels))
	if err != nil {
		return false, err
	}
	if err := d.discard(ctx, old.ID); err != nil {
		return d.outcome(ctx, f.key, err)
	}
	return d.make(ctx, f, i, epochOf(old.Config.Labels), old.State.Status == container.StateCreated)
}

// make creates the container and starts it. Its epoch is above before, the last known.
func (d *driver) make(ctx context.Context, f *form, i image, before int64, unprepared bool) (bool, error) {
	made, err := d.engine.ContainerCreate(ctx, d.create(f, i, max(before+1, time.Now().UnixMilli())))
	if err != nil {
		return d.outcome(ctx, f.key, err)
	}
	return d.start(ctx, f, made.ID, i, unprepared)
}

// start gives a container what it needs and starts it. The volume cannot vanish meanwhile,
// as the container holds it.
func (d *driver) start(ctx context.Context, f *form, id string, i image, unprepared bool) (bool, error) {
	if unprepared && f.key.Scope.Keeps() {
		if err := d.giveAway(ctx, f, id, i); err != nil {
			return d.outcome(ctx, f.key, err)
		}
	}
	if f.token != "" { // a file that nobody but the user inside reads
		file := tar.Header{Typeflag: tar.TypeReg, Name: tokenFile[len(secrets)+1:], Mode: 0o400, Size: int64(len(f.token))}
		if err := d.copy(ctx, id, secrets, file, []byte(f.token)); err != nil {
			return d.outcome(ctx, f.key, err)
		}
	}
	_, err := d.engine.ContainerStart(ctx, id, client.ContainerStartOptions{})
	return d.outcome(ctx, f.key, err)
}

// givenAway is the mode of the workspace's folder when it is the user's. The engine makes it
// with another one.
const givenAway = 0o775

// giveAway makes the workspace's folder the user's, unless it is.
func (d *driver) giveAway(ctx context.Context, f *form, id string, i image) error {
	at, err := d.engine.ContainerStatPath(ctx, id, client.ContainerStatPathOptions{Path: workspace})
	if err != nil || at.Stat.Mode.Perm() == givenAway {
		return err
	}
	made, err := d.engine.ContainerCreate(ctx, d.prepare(f, i))
	if err != nil {
		return err
	}
	err = d.copy(ctx, made.ID, "/", tar.Header{Typeflag: tar.TypeDir, Name: workspace[1:] + "/", Mode: givenAway}, nil)
	// Whether or not it went well: what never runs is not kept, even when the caller left.
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	if rerr := d.discard(clean, made.ID); err == nil {
		err = rerr
	}
	return err
}

// copy writes a file or a folder, which becomes the user's, into a container that does not
// run.
func (d *driver) copy(ctx context.Context, id, dir string, h tar.Header, content []byte) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h.Uid, h.Gid, h.Format = uid, uid, tar.FormatUSTAR
	if err := w.WriteHeader(&h); err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err := d.engine.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: dir, Content: &b})
	return err
}

// outcome tells a failure from a change that somebody else made meanwhile.
func (d *driver) outcome(ctx context.Context, k sandbox.Key, err error) (bool, error) {
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() == nil && (errdefs.IsConflict(err) || errdefs.IsNotFound(err)):
		d.log.DebugContext(ctx, "a sandbox changed while it was made", "sandbox", k.String(), "error", err)
		return false, nil
	}
	return false, failed(ctx, "made", k, err)
}

// pause waits a little longer each time.
func pause(ctx context.Context, n int) error {
	timer := time.NewTimer(min(time.Duration(n+1)*10*time.Millisecond, 250*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
