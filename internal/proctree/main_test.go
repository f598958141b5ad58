package proctree

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// serverVariable makes the test binary a small server: it starts the command
// that standard input holds and prints the pids of its tree when the command
// has printed a line.
const serverVariable = "PROCTREE_TEST_SERVER"

// promised is how long the promises give a tree to be gone.
const promised = 5 * time.Second

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverVariable); dir != "" {
		if err := serve(dir, Mode(os.Getenv(serverVariable+"_MODE"))); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func serve(dir string, mode Mode) error {
	f, err := Open(context.Background(), Options{Dir: dir, Boot: "boot-" + strconv.Itoa(os.Getpid()), Mode: mode})
	if err != nil {
		return err
	}
	line, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	ready := newSink()
	t, err := f.Start(Spec{ID: "served", Line: string(line), Env: os.Environ(), Output: ready})
	if err != nil {
		return err
	}
	<-ready.line
	fmt.Fprintln(os.Stdout, t.Pids())
	select {}
}

// sink keeps output and tells of its first line.
type sink struct {
	mu   sync.Mutex
	data bytes.Buffer
	once sync.Once
	line chan struct{}
}

func newSink() *sink { return &sink{line: make(chan struct{})} }

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.IndexByte(p, '\n') >= 0 {
		s.once.Do(func() { close(s.line) })
	}
	return s.data.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.String()
}

// eachMode runs the test in both modes, on a forest of its own.
func eachMode(t *testing.T, test func(t *testing.T, f *Forest)) {
	t.Helper()
	for _, mode := range []Mode{Namespace, Group} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			test(t, openForest(t, t.TempDir(), mode))
		})
	}
}

func needs(t *testing.T, mode Mode) {
	t.Helper()
	if found, reason := Probe(); mode == Namespace && found != Namespace {
		t.Skipf("mode %s: %s", mode, reason)
	}
}

func openForest(t *testing.T, dir string, mode Mode) *Forest {
	t.Helper()
	needs(t, mode)
	f, err := Open(t.Context(), Options{Dir: dir, Boot: "boot-1", Mode: mode, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), promised)
		defer cancel()
		if err := f.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return f
}

func start(t *testing.T, f *Forest, id, line string, out io.Writer) *Tree {
	t.Helper()
	tree, err := f.Start(Spec{ID: id, Line: line, Env: os.Environ(), Dir: t.TempDir(), Output: out})
	if err != nil {
		t.Fatalf("start %q: %v", line, err)
	}
	return tree
}

// finished waits for the tree's end, within what a slow machine needs.
func finished(t *testing.T, tree *Tree) Exit {
	t.Helper()
	within(t, tree.Done(), "the tree's end")
	return tree.Exit()
}

func within(t *testing.T, event <-chan struct{}, what string) {
	t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case <-event:
	case <-timer.C:
		t.Fatalf("waited in vain for %s", what)
	}
}

func endIn(t *testing.T, tree *Tree, grace time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), promised)
	defer cancel()
	if err := tree.End(ctx, grace); err != nil {
		t.Errorf("end: %v", err) // also from other goroutines
	}
}

// withToken lists living processes whose command line or environment holds the
// token. It asks /proc itself and shares no code with the package.
func withToken(t *testing.T, token string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	var found []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		env, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if bytes.Contains(line, []byte(token)) || bytes.Contains(env, []byte(token)) {
			found = append(found, e.Name()+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func lives(pid int) bool {
	p, found := newSystem().identify(pid)
	if !found {
		return false
	}
	all, _ := newSystem().table()
	for _, q := range all {
		if q.identity() == p {
			return !q.zombie
		}
	}
	return false
}

// served starts the test binary as a server and answers it with the pids of the
// tree that it started.
func served(t *testing.T, dir string, mode Mode, line string) (server *exec.Cmd, pids []int) {
	t.Helper()
	needs(t, mode)
	server = exec.Command(os.Args[0])
	server.Env = append(os.Environ(), serverVariable+"="+dir, serverVariable+"_MODE="+string(mode))
	server.Stdin = strings.NewReader(line)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	answer := make([]byte, 4096)
	n, err := out.Read(answer)
	if err != nil {
		t.Fatalf("the server said nothing: %v", err)
	}
	for _, word := range strings.Fields(strings.Trim(string(answer[:n]), "[]\n")) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("the server said %q", answer[:n])
		}
		pids = append(pids, pid)
	}
	return server, pids
}

// crash kills the server as nothing can be caught.
func crash(t *testing.T, server *exec.Cmd) {
	t.Helper()
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
}
