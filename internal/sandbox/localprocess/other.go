//go:build !linux

package localprocess

import (
	"context"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

func open(context.Context, sandbox.Options) (sandbox.Provisioner, error) {
	return nil, sandbox.ErrUnusable.Saying("%s=%s needs Linux, whose namespaces hold the sandboxes: choose docker", sandbox.EnvProvisioner, Name)
}
