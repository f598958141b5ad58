package sandbox

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker/dockertest"
	"github.com/cadre-dev/cadre/internal/sandbox/localprocess"
	"github.com/cadre-dev/cadre/internal/workspace/remote"
)

// localServer starts a server whose sandboxes are processes. Without bubblewrap the test is
// skipped; in CI it fails.
func localServer(t *testing.T) *server {
	t.Helper()
	dir := folder(t)
	env := map[string]string{sandbox.EnvMemory: "256m", sandbox.EnvCPUs: "1", sandbox.EnvPIDs: "128", sandbox.EnvDisk: "64m"}
	s := &server{lines: lane.NewLines(filepath.Join(dir, "l"), func(l net.Listener) lane.Line { return remote.Listen(l, patience) })}
	data := filepath.Join(dir, "d")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := localprocess.Registration.Open(context.Background(), sandbox.Options{ // also when the test has ended
		DataDir: data, Owner: id.New("own"), Env: func(name string) string { return env[name] }, Log: slog.New(slog.DiscardHandler),
		Hands: (&dockertest.Engine{}).Hands(t), Lines: s.lines,
	})
	switch {
	case err != nil && os.Getenv("CI") == "":
		t.Skipf("no sandbox can be made here: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	s.Provisioner = p
	return s
}
