package docker_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
	"github.com/cadre-dev/cadre/internal/sandbox/docker/dockertest"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/remote"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envVictim); dir != "" {
		victim(dir)
		return
	}
	dockertest.Main(m)
}

const patience = 60 * time.Second

// lines are the sockets of a server, in one folder.
type lines struct {
	dir  string
	mu   sync.Mutex
	open map[sandbox.Key]*remote.Link
}

func newLines(t testing.TB) *lines {
	t.Helper()
	l := &lines{dir: short(t), open: map[sandbox.Key]*remote.Link{}}
	t.Cleanup(l.close)
	return l
}

// short is a folder for sockets, whose names are short. It goes with the test.
func short(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cd") //nolint:usetesting // the test's name would be in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (l *lines) Open(k sandbox.Key) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	dir := filepath.Join(l.dir, sandbox.Name(k))
	if l.open[k] != nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return "", err
	}
	path := filepath.Join(dir, sandbox.SocketName)
	_ = os.Remove(path)
	s, err := net.Listen("unix", path)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return "", err
	}
	l.open[k] = remote.Listen(s, patience)
	return dir, nil
}

func (l *lines) Drop(k sandbox.Key) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if link := l.open[k]; link != nil {
		delete(l.open, k)
		_ = link.Close()
	}
	return os.RemoveAll(filepath.Join(l.dir, sandbox.Name(k)))
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, link := range l.open {
		_ = link.Close()
		delete(l.open, k)
	}
}

// world is an installation on the engine that the tests share.
type world struct {
	engine *dockertest.Engine
	hands  func(string) (string, error)
	owner  string
	lines  *lines
	env    map[string]string
}

// imageName is the image of most tests.
const imageName = "cadre.test/shell:1"

var images struct {
	sync.Mutex
	made map[string]bool
}

// image makes an image once.
func image(t testing.TB, e *dockertest.Engine, name string, changes ...string) {
	t.Helper()
	images.Lock()
	defer images.Unlock()
	if images.made == nil {
		images.made = map[string]bool{}
	}
	if !images.made[name] {
		e.Image(t, name, changes...)
		images.made[name] = true
	}
}

func newWorld(t testing.TB) *world {
	t.Helper()
	e := dockertest.Shared(t)
	image(t, e, imageName)
	w := &world{
		engine: e, hands: e.Hands(t), owner: id.New("own"), lines: newLines(t),
		env: map[string]string{docker.EnvHost: e.Host, docker.EnvImage: imageName, sandbox.EnvMemory: "256m", sandbox.EnvCPUs: "1"},
	}
	t.Cleanup(func() {
		p := w.open(t)
		all, _ := p.List(context.Background())
		for _, f := range all {
			_ = p.Deprovision(context.Background(), f.Key)
		}
		_ = p.Close()
	})
	return w
}

// elsewhere is the same installation seen from a server with sockets of its own.
func (w *world) elsewhere(t *testing.T) *world {
	t.Helper()
	other := *w
	other.lines = newLines(t)
	return &other
}

func (w *world) options() sandbox.Options {
	return sandbox.Options{
		Owner: w.owner, Env: func(name string) string { return w.env[name] }, Log: slog.New(slog.DiscardHandler),
		Hands: w.hands, Lines: w.lines,
	}
}

// open is a server's driver.
func (w *world) open(t testing.TB) sandbox.Provisioner {
	t.Helper()
	p, err := docker.Open(context.Background(), w.options())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// inside is the workspace of a sandbox.
func (w *world) inside(t testing.TB, k sandbox.Key) workspace.Workspace {
	t.Helper()
	w.lines.mu.Lock()
	link := w.lines.open[k]
	w.lines.mu.Unlock()
	if link == nil {
		t.Fatalf("there is no line to %s", k)
	}
	ws, err := link.Open(context.Background())
	if err != nil {
		t.Fatalf("the folder of %s: %v", k, err)
	}
	return ws
}

// filter finds what the engine has of a sandbox.
func (w *world) filter(k sandbox.Key) client.Filters {
	return client.Filters{}.Add("label", "cadre.dev/owner="+w.owner, "cadre.dev/scope="+string(k.Scope), "cadre.dev/sandbox-id="+k.ID)
}

// running counts the containers that run.
func (w *world) running(t *testing.T, k sandbox.Key) int {
	t.Helper()
	all, err := w.engine.Client.ContainerList(context.Background(), client.ContainerListOptions{Filters: w.filter(k)})
	if err != nil {
		t.Fatal(err)
	}
	return len(all.Items)
}

// Every promise of the seam holds. C49: an ensure on an engine that answers, and probe says
// running; without an engine the tests skip. C40, C44, C50 to C53: as the suite says.
func TestSuite(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, func(t *testing.T) sandboxtest.Subject {
		w := newWorld(t)
		return sandboxtest.Subject{
			Outlives:  true,
			Open:      func(t *testing.T) sandbox.Provisioner { return w.open(t) },
			Instances: w.running,
			Write: func(t *testing.T, k sandbox.Key, name, text string) {
				err := w.inside(t, k).Replace(context.Background(), workspace.Replacement{Path: name, Data: []byte(text), Before: workspace.Absent, Token: "t"})
				if err != nil {
					t.Fatal(err)
				}
			},
			Read: func(t *testing.T, k sandbox.Key, name string) (string, bool) {
				data, err := w.inside(t, k).Read(context.Background(), name, 1<<20)
				if errors.Is(err, workspace.ErrNotFound) {
					return "", false
				}
				if err != nil {
					t.Fatal(err)
				}
				return string(data), true
			},
		}
	})
}
