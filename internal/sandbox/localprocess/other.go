//go:build !linux

package localprocess

import (
	"context"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

func open(ctx context.Context, o sandbox.Options) (sandbox.Provisioner, error) {
	return nil, usable(ctx, o)
}

func usable(context.Context, sandbox.Options) error {
	return sandbox.ErrUnusable.Saying("%s=%s needs Linux, whose namespaces hold the sandboxes: choose docker", sandbox.EnvProvisioner, Name)
}
