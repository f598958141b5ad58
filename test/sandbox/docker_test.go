// Package sandbox tests sandboxes as servers have them: a driver, the line to the program
// inside, and the workspace over it.
package sandbox

import (
	"context"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/hands"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
	"github.com/cadre-dev/cadre/internal/sandbox/docker/dockertest"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/remote"
	"github.com/cadre-dev/cadre/test/built"
)

func TestMain(m *testing.M) {
	built.AtEnd(dockertest.Stop)
	built.Main(m)
}

// patience bounds every wait.
const patience = 60 * time.Second

// dockerImage is the image of these tests.
const dockerImage = "cadre.test/shell:lane"

// server is one with docker sandboxes: a driver and its lines.
type server struct {
	sandbox.Provisioner
	lines *lane.Lines
}

// dockerServer starts a server on a folder with lines.
func dockerServer(t *testing.T, dir, owner string) *server {
	t.Helper()
	e := dockertest.Shared(t)
	env := map[string]string{docker.EnvHost: e.Host, docker.EnvImage: dockerImage, sandbox.EnvMemory: "256m", sandbox.EnvCPUs: "1", sandbox.EnvPIDs: "128", sandbox.EnvDisk: "64m"}
	s := &server{lines: lane.NewLines(dir, func(l net.Listener) lane.Line { return remote.Listen(l, patience) })}
	p, err := docker.Open(context.Background(), sandbox.Options{ // also when the test has ended
		Owner: owner, Env: func(name string) string { return env[name] }, Log: slog.New(slog.DiscardHandler), Hands: e.Hands(t), Lines: s.lines,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Provisioner = p
	return s
}

// end ends the server as an orderly one ends: its sandboxes go on.
func (s *server) end(t *testing.T) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.lines.Close(); err != nil {
		t.Error(err)
	}
}

// inside ensures a session's sandbox and opens its folder.
func (s *server) inside(t *testing.T, session string) workspace.Workspace {
	t.Helper()
	k := sandbox.Key{Scope: sandbox.Session, ID: session}
	if err := s.EnsureSession(t.Context(), session, sandbox.NewEnv(lane.SessionQueue(session), "", identity.User)); err != nil {
		t.Fatal(err)
	}
	ws, err := s.lines.Line(k).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// folder is one for sockets, whose names are short.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cl") //nolint:usetesting // the test's name would be in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// The line of a docker sandbox reaches the folder inside, also that of the server which
// follows: a process that runs meanwhile goes on, and nothing that it prints is lost.
func TestDockerLine(t *testing.T) {
	t.Parallel()
	dockertest.Shared(t).Image(t, dockerImage)
	dir, owner, session := folder(t), id.New("own"), "ses_line"
	first := dockerServer(t, dir, owner)
	k := sandbox.Key{Scope: sandbox.Session, ID: session}
	t.Cleanup(func() {
		last := dockerServer(t, dir, owner)
		if err := last.Deprovision(context.Background(), k); err != nil {
			t.Error(err)
		}
		last.end(t)
	})
	ws := first.inside(t, session)
	if ws.Name() != hands.DefaultRoot {
		t.Errorf("the folder inside is %s", ws.Name())
	}
	if err := ws.Replace(t.Context(), workspace.Replacement{Path: "a/b.txt", Data: []byte("kept"), Before: workspace.Absent, Token: "t"}); err != nil {
		t.Fatal(err)
	}
	const line = "cat a/b.txt; i=0; while [ ! -e go ]; do sleep 0.05; done; echo over"
	p, err := ws.Start(t.Context(), workspace.Command{ID: "p", Session: session, Execution: "aex_1", Line: line, Background: true})
	if err != nil {
		t.Fatal(err)
	}
	first.end(t)
	<-p.Done() // as far as that server can tell

	next := dockerServer(t, dir, owner)
	defer next.end(t)
	ws = next.inside(t, session)
	p, err = ws.Process(session, "p")
	if err != nil {
		t.Fatalf("the process is lost: %v", err)
	}
	if err := ws.Replace(t.Context(), workspace.Replacement{Path: "go", Before: workspace.Absent, Token: "t"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("the process does not end")
	}
	if got := string(p.Output(0).Text); got != "keptover\n" || p.Exit().Code != 0 {
		t.Errorf("it printed %q and ended with %+v", got, p.Exit())
	}
	if all, err := next.List(t.Context()); err != nil || len(all) != 1 || all[0].Key != k {
		t.Errorf("the next server lists %+v, %v", all, err)
	}
}
