package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
	"github.com/cadre-dev/cadre/internal/sandbox/docker/dockertest"
	"github.com/cadre-dev/cadre/internal/workspace/remote"
)

// way is a way to the engine that breaks, and that knows what is under way.
type way struct {
	host    string
	left    atomic.Int64 // changes that still come through; then nothing does
	mu      sync.Mutex
	pending int
	rest    *sync.Cond // told when nothing is pending
}

// began counts what is under way; what it answers ends that.
func (v *way) began() (ended func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.pending--; v.pending == 0 {
			v.rest.Broadcast()
		}
	}
}

// wait waits until nothing is under way.
func (v *way) wait() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.pending > 0 {
		v.rest.Wait()
	}
}

// newWay leads to the engine.
func newWay(t *testing.T, e *dockertest.Engine) *way {
	t.Helper()
	path := filepath.Join(short(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	to := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		network, address, _ := strings.Cut(e.Host, "://")
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	v := &way{host: "unix://" + path}
	v.rest = sync.NewCond(&v.mu)
	v.left.Store(1 << 40)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		defer v.began()()
		change := r.Method != http.MethodGet && r.Method != http.MethodHead
		if v.left.Load() <= 0 {
			panic(http.ErrAbortHandler)
		}
		// The engine finishes what it began, also when nobody waits any more.
		sent := r.Clone(context.WithoutCancel(r.Context()))
		sent.URL.Scheme, sent.URL.Host, sent.RequestURI = "http", "engine", ""
		answer, err := to.RoundTrip(sent)
		if change && v.left.Add(-1) <= 0 || err != nil {
			if err == nil {
				_ = answer.Body.Close()
			}
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = answer.Body.Close() }()
		for name, values := range answer.Header {
			out.Header()[name] = values
		}
		out.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(out, answer.Body)
	}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		to.CloseIdleConnections()
	})
	return v
}

// A server that ends after any change that it made to the engine leaves what the next one
// goes on with, and what one sweep removes.
func TestEveryStepMayBeTheLast(t *testing.T) {
	t.Parallel()
	for begin, ways := range map[string][]string{"absent": {"goes on", "sweeps"}, "ended": {"goes on"}} {
		for _, then := range ways {
			t.Run(begin+", then "+then, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				next := w.open(t)
				defer func() { _ = next.Close() }()
				for n, through := int64(1), false; !through; n++ {
					if n > 12 {
						t.Fatal("an ensure changes more than a dozen things")
					}
					through = w.oneStep(t, next, begin, then, n)
				}
			})
		}
	}
}

// oneStep begins with a sandbox in a state, has a server end after its nth change, and sees
// what the next one makes of that. True when the server came to the end before.
func (w *world) oneStep(t *testing.T, next sandbox.Provisioner, begin, then string, n int64) bool {
	t.Helper()
	k := session("ses_step")
	if begin == "ended" {
		ensure(t, next, k, "")
		w.kill(t, next, k)
	}
	through := w.endAfter(t, k, n)
	if f := listed(t, next, k); f.Key != k {
		t.Errorf("ended after change %d: it is not listed", n)
	}
	if then == "goes on" {
		ensure(t, next, k, "")
		if got, exit := shell(t, w.inside(t, k), `touch /workspace/x && echo mine`); got != "mine" || w.running(t, k) != 1 {
			t.Errorf("ended after change %d: the workspace: %q, %+v", n, got, exit)
		}
	}
	if err := next.Deprovision(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	w.nothing(t)
	return through
}

// endAfter ensures with a server that ends after n changes; true when it came to the end.
func (w *world) endAfter(t *testing.T, k sandbox.Key, n int64) bool {
	t.Helper()
	v := newWay(t, w.engine)
	other := *w
	other.env = map[string]string{docker.EnvHost: v.host, docker.EnvImage: imageName, sandbox.EnvMemory: w.env[sandbox.EnvMemory], sandbox.EnvCPUs: "1"}
	p := other.open(t)
	defer func() { _ = p.Close() }()
	v.left.Store(n)
	err := p.EnsureSession(t.Context(), k.ID, sandbox.NewEnv(k.String(), "t", identity.User))
	v.wait()
	return err == nil
}

// envVictim makes a process of this test one that is killed; it names a folder.
const envVictim = "CADRE_TEST_DOCKER_VICTIM"

// order is what a victim is told.
type order struct {
	Env   map[string]string
	Owner string
	Hands string
}

// victim makes, stops and removes sandboxes until it is killed.
func victim(dir string) {
	var o order
	data, err := os.ReadFile(filepath.Join(dir, "order"))
	if err := errors.Join(err, json.Unmarshal(data, &o)); err != nil {
		panic(err)
	}
	p, err := docker.Open(context.Background(), sandbox.Options{
		Owner: o.Owner, Env: func(name string) string { return o.Env[name] }, Log: slog.New(slog.DiscardHandler),
		Hands: func(string) (string, error) { return o.Hands, nil },
		Lines: &lines{dir: filepath.Join(dir, "l"), open: map[sandbox.Key]*remote.Link{}},
	})
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString("ready\n")
	ctx := context.Background()
	for n := range 3 {
		go func() {
			for {
				k := session(fmt.Sprintf("ses_%d", n))
				_ = p.EnsureSession(ctx, k.ID, sandbox.NewEnv(k.String(), "t", identity.User))
				_ = p.Stop(ctx, k)
				_ = p.EnsureSession(ctx, k.ID, sandbox.NewEnv(k.String(), "t", identity.User))
				_ = p.Deprovision(ctx, k)
				c := sandbox.Key{Scope: sandbox.Connect, ID: k.ID}
				_ = p.CreateConnect(ctx, c.ID, sandbox.NewEnv(c.String(), "t", identity.User))
				_ = p.Stop(ctx, c)
			}
		}()
	}
	select {}
}

// Thirty servers are killed while their sandboxes start and stop: one sweep of the next
// removes all that is left.
func TestKilledServersLeaveNothing(t *testing.T) {
	t.Parallel()
	const kills = 30
	w := newWorld(t)
	v := newWay(t, w.engine)
	dir := short(t)
	path, _ := w.hands("")
	o := order{Owner: w.owner, Hands: path, Env: map[string]string{docker.EnvHost: v.host, docker.EnvImage: imageName, sandbox.EnvMemory: "64m"}}
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "order"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // instants
	most := 0
	for range kills {
		kill(t, dir, time.Duration(random.Int64N(int64(1500*time.Millisecond))))
		v.wait() // what the engine was asked for before
		most = max(most, len(left(t, w)))
	}
	if most == 0 {
		t.Error("none of the kills left anything: they came too early")
	}
	p := w.open(t)
	defer func() { _ = p.Close() }()
	for _, f := range left(t, w) {
		if err := p.Deprovision(t.Context(), f.Key); err != nil {
			t.Error(err)
		}
	}
	w.nothing(t)
}

// left is what the next server finds.
func left(t *testing.T, w *world) []sandbox.Found {
	t.Helper()
	p := w.open(t)
	defer func() { _ = p.Close() }()
	all, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// kill starts a victim and kills it some time after it was ready.
func kill(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envVictim+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, _ := out.Read(line)
	if got := strings.TrimSpace(string(line[:n])); got != "ready" {
		t.Errorf("the server says %q", got)
	}
	<-time.NewTimer(after).C
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
