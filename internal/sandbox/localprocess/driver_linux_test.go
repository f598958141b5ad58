package localprocess

import (
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/sandboxtest"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/remote"
)

// program builds the program inside, once.
var program = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("CADRE_HANDS"); given != "" {
		return given, nil
	}
	dir, err := os.MkdirTemp("", "cadre-hands-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "cadre-hands")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "github.com/cadre-dev/cadre/cmd/cadre-hands")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, os.Chmod(dir, 0o755) //nolint:gosec // a program for others
})

func TestMain(m *testing.M) {
	if dir := os.Getenv(envVictim); dir != "" {
		victim(dir)
		return
	}
	m.Run()
	if path, err := program(); err == nil && os.Getenv("CADRE_HANDS") == "" {
		_ = os.RemoveAll(filepath.Dir(path))
	}
}

// sockets are the server's ends of sandboxes.
type sockets struct {
	dir  string
	mu   sync.Mutex
	open map[sandbox.Key]*remote.Link
}

func (s *sockets) Open(k sandbox.Key) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.dir, sandbox.Name(k))
	if s.open[k] != nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, sandbox.SocketName)
	_ = os.Remove(path)
	l, err := net.Listen("unix", path)
	if err != nil {
		return "", err
	}
	s.open[k] = remote.Listen(l, 0)
	return dir, os.Chmod(path, 0o666)
}

func (s *sockets) Drop(k sandbox.Key) error {
	s.mu.Lock()
	link := s.open[k]
	delete(s.open, k)
	s.mu.Unlock()
	if link != nil {
		_ = link.Close()
	}
	return os.RemoveAll(filepath.Join(s.dir, sandbox.Name(k)))
}

// world is a data folder and its servers' sockets.
type world struct {
	data string
	env  map[string]string
	*sockets
}

func newWorld(t testing.TB) *world {
	t.Helper()
	if path, err := program(); err != nil {
		t.Fatalf("cadre-hands cannot be built: %v\n%s", err, path)
	}
	short, err := os.MkdirTemp("", "lp") //nolint:usetesting // the names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	w := &world{data: filepath.Join(short, "d"), env: map[string]string{}, sockets: &sockets{dir: filepath.Join(short, "l"), open: map[sandbox.Key]*remote.Link{}}}
	t.Cleanup(func() {
		for k := range w.open {
			_ = w.Drop(k)
		}
		_ = os.RemoveAll(short)
	})
	if err := os.MkdirAll(w.data, 0o700); err != nil { // as a server has it
		t.Fatal(err)
	}
	return w
}

func (w *world) options() sandbox.Options {
	return sandbox.Options{
		DataDir: w.data, Owner: "test-" + filepath.Base(filepath.Dir(w.data)), Env: func(name string) string { return w.env[name] }, Lines: w.sockets,
		Hands: func(string) (string, error) { return program() }, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

// driver opens one, or skips the test where the machine cannot: in CI it must.
func (w *world) driver(t testing.TB) *Driver {
	t.Helper()
	d, err := open(t.Context(), w.options())
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("no sandbox can be made here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (w *world) inside(t testing.TB, k sandbox.Key) workspace.Workspace {
	t.Helper()
	w.mu.Lock()
	link := w.open[k]
	w.mu.Unlock()
	ws, err := link.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// instances counts bubblewraps of a sandbox that this process started.
func instances(k sandbox.Key) int {
	n := 0
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range all {
		data, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) || fields[0] == "Z" {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		if strings.Contains(string(line), sandbox.Name(k)+"\x00") {
			n++
		}
	}
	return n
}

// C50, C51, C52, C53, C54: one child however often, killed when it is asked for, made anew
// also without a token.
func TestSuite(t *testing.T) {
	t.Parallel()
	_ = newWorld(t).driver(t).Close() // it is only looked whether there can be one
	sandboxtest.Run(t, func(t *testing.T) sandboxtest.Subject {
		w := newWorld(t)
		file := func(k sandbox.Key, name string) string {
			return filepath.Join(w.data, "sandboxes", sandbox.Name(k), "workspace", name)
		}
		return sandboxtest.Subject{
			Open:      func(t *testing.T) sandbox.Provisioner { return w.driver(t) },
			Instances: func(_ *testing.T, k sandbox.Key) int { return instances(k) },
			Write: func(t *testing.T, k sandbox.Key, name, text string) {
				t.Helper()
				if err := w.inside(t, k).Replace(t.Context(), workspace.Replacement{Path: name, Data: []byte(text)}); err != nil {
					t.Fatal(err)
				}
			},
			Read: func(_ *testing.T, k sandbox.Key, name string) (string, bool) {
				data, err := os.ReadFile(file(k, name))
				return string(data), err == nil
			},
		}
	})
}
