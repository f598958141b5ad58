package docker_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/workspacetest"
)

// insider is who works inside.
const insider = 65532

// openInside gives the workspace of a sandbox whose volume is dir. What the suite does to
// dir from here on it does as the user inside.
func openInside(t *testing.T, dir string) workspace.Workspace {
	t.Helper()
	w := newWorld(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be the user inside")
	}
	k := session("ses_workspace")
	sum := sha256.Sum256([]byte(w.owner))
	_, err := w.engine.Client.VolumeCreate(context.Background(), client.VolumeCreateOptions{
		Name:       sandbox.Name(k) + "-" + hex.EncodeToString(sum[:3]),
		DriverOpts: map[string]string{"type": "none", "o": "bind", "device": dir},
		Labels: map[string]string{
			"cadre.dev/managed-by": "cadre-server", "cadre.dev/owner": w.owner, "cadre.dev/scope": string(k.Scope), "cadre.dev/sandbox-id": k.ID,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := w.open(t)
	t.Cleanup(func() { _ = p.Close() })
	ensure(t, p, k, "")
	outside, top := filepath.Join(filepath.Dir(dir), "outside"), filepath.Dir(filepath.Dir(dir))
	if err := errors.Join(os.Chmod(top, 0o755), os.Chown(outside, insider, insider), os.Chown(filepath.Join(outside, "secret.txt"), insider, insider)); err != nil {
		t.Fatal(err)
	}
	ws := w.inside(t, k)
	runtime.LockOSThread() // for the rest of the test
	as := func(id int) {
		if err := errors.Join(syscall.Setfsgid(id), syscall.Setfsuid(id)); err != nil {
			t.Error(err)
		}
	}
	as(insider)
	t.Cleanup(func() { as(0) })
	return ws
}

// Every promise of a workspace holds in a sandbox.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	workspacetest.Run(t, openInside)
}

func TestCommands(t *testing.T) {
	t.Parallel()
	workspacetest.RunCommands(t, openInside)
}
