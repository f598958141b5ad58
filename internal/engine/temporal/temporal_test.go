package temporal

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/primitives"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
)

// Leaks of goroutines are not checked here: the server keeps some after it has
// stopped, and the connection pool of its SQLite plugin never closes.

// record is a log that a test can look into. Warnings and errors also go to the
// test's output when it is verbose.
type record struct {
	slog.Handler
	mu    *sync.Mutex
	text  *strings.Builder
	level slog.Level
}

func newRecord() *record {
	r := &record{mu: &sync.Mutex{}, text: &strings.Builder{}, level: slog.LevelWarn}
	r.Handler = slog.NewTextHandler(r, &slog.HandlerOptions{Level: r.level})
	return r
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if testing.Verbose() {
		_, _ = os.Stderr.Write(p)
	}
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// timing has short waits; a dead attempt is noticed late.
var timing = engine.Timing{
	Linger: 200 * time.Millisecond, Heartbeat: 100 * time.Millisecond, HeartbeatTimeout: 10 * time.Minute, PeekBackoff: 5 * time.Millisecond,
}

func open(t *testing.T, dir string, timing engine.Timing) *driver {
	t.Helper()
	d := newDriver(Options{Dir: dir, Log: slog.New(newRecord()), Timing: timing})
	t.Cleanup(func() { halt(t, d) })
	return d
}

func halt(t *testing.T, d *driver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := d.Stop(ctx); err != nil {
		t.Errorf("Stop: %v", err)
	}
}

// kill ends an engine without letting it say anything more to its server.
func (d *driver) kill(ctx context.Context) error {
	d.killed.Store(true)
	return d.end(ctx, errors.New("killed by the test"))
}

func TestSuite(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(t *testing.T, timing engine.Timing) engine.Engine {
		t.Helper()
		return open(t, t.TempDir(), timing)
	}, enginetest.Capabilities{
		Durable: true,
		Kill: func(t *testing.T, e engine.Engine, timing engine.Timing) engine.Engine {
			t.Helper()
			d := e.(*driver)
			if err := d.kill(t.Context()); err != nil {
				t.Fatalf("kill: %v", err)
			}
			return open(t, d.dir, timing)
		},
	})
}

// idle is handlers that never have anything to do.
type idle struct{}

func (idle) Peek(context.Context, string) (engine.Decision, error) {
	return engine.Decision{Verb: engine.Idle, Revision: 1 << 40}, nil
}
func (idle) Run(context.Context, engine.Attempt) error       { return nil }
func (idle) Connected(context.Context, string)               {}
func (idle) Interrupt(context.Context, string, string) error { return nil }

func begin(t *testing.T, d *driver, h engine.Handlers) {
	t.Helper()
	if err := d.Start(t.Context(), h); err != nil {
		t.Fatalf("Start: %v", err)
	}
}

func TestClientsNeedTheCredential(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), timing)
	begin(t, d, idle{})
	for name, key := range map[string]credential{"none": "", "another": newCredential()} {
		options := client.Options{HostPort: d.server.address(), Namespace: namespace, Logger: clientLines{newLines(slog.New(slog.DiscardHandler))}}
		if key != "" {
			options.HeadersProvider = key
		}
		c, err := client.NewLazyClient(options)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.CheckHealth(t.Context(), &client.CheckHealthRequest{})
		if err == nil {
			t.Errorf("credential %s: the server answers a health check", name)
		}
		_, err = c.DescribeWorkflowExecution(t.Context(), workflowID("a"), "")
		if err == nil || !strings.Contains(err.Error(), "unauthorized") {
			t.Errorf("credential %s: a call ends with %v; want that it is unauthorized", name, err)
		}
	}
}

func TestInnerServicesNeedTheCertificate(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir(), timing)
	begin(t, d, idle{})
	for _, service := range []primitives.ServiceName{primitives.HistoryService, primitives.MatchingService} {
		conn, err := grpc.NewClient(d.server.ports.address(service), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err == nil {
			t.Errorf("service %s answers a client without a certificate", service)
		}
	}
}

func TestIDOutlivesAStop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, timing)
	begin(t, first, idle{})
	want := first.ID()
	halt(t, first)
	second := open(t, dir, timing)
	if got := second.ID(); got != want || got == "" {
		t.Errorf("the id went from %q to %q", want, got)
	}
	begin(t, second, idle{})
	if got := second.ID(); got != want {
		t.Errorf("Start changed the id from %q to %q", want, got)
	}
}

func TestOneProcessPerFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := open(t, dir, timing), open(t, dir, timing)
	if first.ID() == "" {
		t.Fatal("the first engine has no id")
	}
	if err := second.Start(t.Context(), idle{}); !errors.Is(err, errInUse) {
		t.Errorf("a second engine starts with %v; want errInUse", err)
	}
}

func TestUnusableFilesAreSetAside(t *testing.T) {
	t.Parallel()
	write := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]func(t *testing.T, dir string){
		"another version": write(markFile, `{"id":"eng_old","server":"1.0.0","schema":"0.1","layout":1}`),
		"no mark":         func(t *testing.T, dir string) { remove(t, filepath.Join(dir, markFile)) },
		"mark of nothing": write(markFile, "{"),
		"no main file":    func(t *testing.T, dir string) { remove(t, filepath.Join(dir, mainFile)) },
		"not a database":  write(mainFile, "this is no database, it is a text that is long enough to be looked at as one"),
		"damaged pages":   scribble,
		"empty":           write(mainFile, ""),
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := open(t, dir, timing)
			before := first.ID()
			halt(t, first)
			_ = os.Remove(filepath.Join(dir, mainFile+"-wal")) // else the changes that are logged there repair the file
			_ = os.Remove(filepath.Join(dir, mainFile+"-shm"))
			spoil(t, dir)

			log := newRecord()
			second := newDriver(Options{Dir: dir, Log: slog.New(log), Timing: timing})
			t.Cleanup(func() { halt(t, second) })
			begin(t, second, idle{})
			if got := second.ID(); got == before || got == "" {
				t.Errorf("the id is %q after %q", got, before)
			}
			if !strings.Contains(log.String(), "level=WARN msg=\"engine files set aside and rebuilt\"") {
				t.Errorf("the log does not say that files were set aside:\n%s", log)
			}
			if aside, _ := filepath.Glob(filepath.Join(dir, "*.aside-*")); len(aside) == 0 {
				t.Error("nothing was kept")
			}
			if err := second.Wake(t.Context(), "a", 1); err != nil {
				t.Errorf("Wake: %v", err)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// scribble overwrites all pages of the main file but the first.
func scribble(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, mainFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 4096; n < len(raw); n++ {
		raw[n] = byte(n)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHealthTellsOfRefusedWakes spoils a table under a running server.
func TestHealthTellsOfRefusedWakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir, timing)
	begin(t, d, idle{})
	if err := d.Wake(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	rename := func(from, to string) {
		db, err := sql.Open("sqlite", dsn(filepath.Join(dir, mainFile))+"?_pragma=busy_timeout(60000)")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
			t.Fatal(err)
		}
	}
	rename("current_executions", "elsewhere")
	if err := d.Wake(t.Context(), "b", 1); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Wake into files without a table: %v; want ErrUnavailable", err)
	}
	if err := d.Health(t.Context()); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "newest wake") {
		t.Errorf("Health says %v; want that the newest wake was not taken", err)
	}
	rename("elsewhere", "current_executions")
	if err := d.Wake(t.Context(), "b", 1); err != nil {
		t.Errorf("Wake into whole files: %v", err)
	}
	if err := d.Health(t.Context()); err != nil {
		t.Errorf("Health after a wake that was taken: %v", err)
	}
}
