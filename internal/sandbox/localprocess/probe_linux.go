package localprocess

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// probeTime bounds the first try.
const probeTime = 20 * time.Second

// probe makes a sandbox that only says its version: what the system refuses is known at the
// start, and not at the first turn.
func (d *Driver) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var said, complained bytes.Buffer
	args := append(d.isolation(), "--proc", "/proc", "--dev", "/dev", "--ro-bind", d.hands, handsInside, "--", handsInside, "version")
	cmd := exec.CommandContext(ctx, d.bwrap, args...) //nolint:gosec // bubblewrap, with arguments of this driver
	cmd.Env, cmd.Stdout, cmd.Stderr = d.environment(sandbox.Env{}), &said, &complained
	err := cmd.Run()
	if err == nil && strings.HasPrefix(said.String(), "cadre-hands ") {
		return nil
	}
	words := strings.TrimSpace(complained.String())
	switch {
	case strings.Contains(words, "user namespace") || strings.Contains(words, "uid map") || strings.Contains(words, "No permissions to create"):
		return sandbox.ErrUnusable.Saying("%s=%s needs user namespaces, which this system refuses to its users (%s): allow them, for instance with "+
			"sysctl kernel.unprivileged_userns_clone=1, or start the server as root, whose sandboxes never are", sandbox.EnvProvisioner, Name, words)
	case words == "" && err != nil:
		words = err.Error()
	case words == "":
		words = "the program inside said " + said.String()
	}
	return sandbox.ErrUnusable.Saying("%s=%s cannot make a sandbox on this machine: %s", sandbox.EnvProvisioner, Name, words).Because(err)
}
