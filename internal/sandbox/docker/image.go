package docker

import (
	"context"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// image is one of the engine: its id, which is never another's, and the name by which it
// was chosen.
type image struct{ id, name string }

func (i image) labels() map[string]string {
	return map[string]string{labelImage: i.name, labelImageID: i.id, labelPolicy: policy}
}

// imageOf reads those labels.
func imageOf(labels map[string]string) image {
	return image{id: labels[labelImageID], name: labels[labelImage]}
}

// elect chooses the image of a container: the one that the sandbox had, if any, else the one
// that is configured now. One that the engine has lost is told and replaced, since a sandbox
// that never starts again would keep nothing either.
func (d *driver) elect(ctx context.Context, k sandbox.Key, kept image) (image, error) {
	if kept.id != "" {
		_, err := d.engine.ImageInspect(ctx, kept.id)
		switch {
		case err == nil:
			return kept, nil
		case !errdefs.IsNotFound(err):
			return image{}, failed(ctx, "made", k, err)
		}
		d.log.WarnContext(ctx, "the image of a sandbox is gone from the engine; it gets the one that is configured now",
			"sandbox", k.String(), "image", kept.name, "image_id", kept.id, "now", d.config.image)
	}
	found, err := d.engine.ImageInspect(ctx, d.config.image)
	if errdefs.IsNotFound(err) {
		if err = d.pull(ctx); err == nil {
			found, err = d.engine.ImageInspect(ctx, d.config.image)
		}
		if err != nil {
			return image{}, sandbox.ErrFailed.Saying("the engine has no image %s and cannot pull it: %s; check %s, or bring it there with docker load",
				d.config.image, sentence(err), EnvImage).Because(err)
		}
	}
	if err != nil {
		return image{}, failed(ctx, "made", k, err)
	}
	return image{id: found.ID, name: d.config.image}, nil
}

// pull has the engine fetch the configured image.
func (d *driver) pull(ctx context.Context) error {
	d.log.InfoContext(ctx, "pulling the image of sandboxes", "image", d.config.image)
	r, err := d.engine.ImagePull(ctx, d.config.image, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return r.Wait(ctx)
}
