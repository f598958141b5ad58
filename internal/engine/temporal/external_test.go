package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
)

// patience ends a test that waits for what will not happen.
const patience = 2 * time.Minute

// standing is a server that stands by itself: it can end and come back with the
// same folder and address.
type standing struct {
	t      *testing.T
	o      ServerOptions
	server *Server
}

// stand starts one; the zero value of a field of o means what tests need mostly.
func stand(t *testing.T, o ServerOptions) *standing {
	t.Helper()
	s := &standing{t: t, o: o}
	if s.o.Dir == "" {
		s.o.Dir = t.TempDir()
	}
	if s.o.Listen == "" {
		s.o.Listen = loopback + ":0"
	}
	s.o.Log = slog.New(slog.DiscardHandler)
	t.Cleanup(s.stop)
	s.start()
	return s
}

func (s *standing) start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		server, err := StartServer(ctx, s.o)
		if errors.Is(err, syscall.EADDRINUSE) && ctx.Err() == nil {
			continue // another test's connection has the port for a moment
		}
		if err != nil {
			s.t.Fatalf("StartServer: %v", err)
		}
		s.server, s.o.Listen = server, server.Address()
		return
	}
}

func (s *standing) stop() {
	s.t.Helper()
	if s.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.server.Stop(ctx); err != nil {
		s.t.Errorf("Stop of the server: %v", err)
	}
	s.server = nil
}

func (s *standing) external() *External {
	return &External{Address: s.o.Listen, Namespace: defaultNamespace}
}

// desk is handlers with a small ledger that knows which attempts live, as the real
// one does. A run lasts until the gate opens.
type desk struct {
	gate    chan struct{}
	reached chan string

	mu      sync.Mutex
	changed chan struct{}
	work    map[string]*deskSession
}

type deskSession struct {
	revision              int64
	waiting, running      bool
	runs, done, cut, seen int
}

func newDesk() *desk {
	d := &desk{gate: make(chan struct{}), reached: make(chan string, 100), changed: make(chan struct{}), work: map[string]*deskSession{}}
	return d
}

// atOnce is a desk whose runs end at once.
func atOnce() *desk {
	d := newDesk()
	close(d.gate)
	return d
}

func (d *desk) edit(session string, f func(s *deskSession)) deskSession {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.work[session]
	if s == nil {
		s = &deskSession{}
		d.work[session] = s
	}
	f(s)
	close(d.changed)
	d.changed = make(chan struct{})
	return *s
}

func (d *desk) Connected(_ context.Context, id string) { d.reached <- id }

func (d *desk) Peek(_ context.Context, session string) (engine.Decision, error) {
	s := d.edit(session, func(s *deskSession) { s.seen++ })
	out := engine.Decision{Verb: engine.Idle, Revision: s.revision}
	switch {
	case s.running:
		out.Verb, out.Until = engine.WaitUntil, time.Now().Add(50*time.Millisecond)
	case s.waiting:
		out.Verb, out.Execution, out.Attempt = engine.Run, "exe", fmt.Sprintf("att_%d", s.runs)
	}
	return out, nil
}

func (d *desk) Run(ctx context.Context, a engine.Attempt) error {
	d.edit(a.Session, func(s *deskSession) { s.running = true; s.runs++ })
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			a.Heartbeat()
		case <-d.gate:
			d.edit(a.Session, func(s *deskSession) { s.running, s.waiting = false, false; s.done++ })
			return nil
		case <-ctx.Done():
			d.edit(a.Session, func(s *deskSession) { s.running = false; s.cut++ })
			return context.Cause(ctx)
		}
	}
}

func (*desk) Interrupt(context.Context, string, string) error { return nil }

func (d *desk) await(t *testing.T, session, what string, ok func(s deskSession) bool) deskSession {
	t.Helper()
	end := time.After(patience)
	for {
		d.mu.Lock()
		var s deskSession
		if d.work[session] != nil {
			s = *d.work[session]
		}
		changed := d.changed
		d.mu.Unlock()
		if ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("session %s: waited in vain for: %s; it is %+v", session, what, s)
		}
	}
}

func (d *desk) awaitEngine(t *testing.T) string {
	t.Helper()
	select {
	case id := <-d.reached:
		return id
	case <-time.After(patience):
		t.Fatal("the engine was not reached")
		return ""
	}
}

// accept commits work and tells the engine, as often as it takes.
func (d *desk) accept(t *testing.T, e engine.Engine, session string) {
	t.Helper()
	d.edit(session, func(s *deskSession) { s.revision++; s.waiting = true })
	d.tell(t, e, session)
}

func (d *desk) tell(t *testing.T, e engine.Engine, session string) {
	t.Helper()
	revision := d.edit(session, func(*deskSession) {}).revision
	end := time.Now().Add(patience)
	for {
		err := e.Wake(t.Context(), session, revision)
		if err == nil {
			return
		}
		if !errors.Is(err, engine.ErrUnavailable) || time.Now().After(end) {
			t.Fatalf("Wake: %v", err)
		}
	}
}

func ended(s deskSession) bool     { return !s.waiting && !s.running && s.done > 0 }
func isRunning(s deskSession) bool { return s.running }

// reachOut starts an engine on a server elsewhere. It is stopped with the test.
func reachOut(t *testing.T, x *External, ledger string, h engine.Handlers) *external {
	t.Helper()
	e := newExternal(Options{External: x, Ledger: ledger, Timing: timing, Log: slog.New(newRecord())})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	if err := e.Start(t.Context(), h); err != nil {
		t.Fatalf("Start: %v", err)
	}
	return e
}

// awaitTrouble waits until Health says all of the words. It asks again and again:
// Health has no event to wait for.
func awaitTrouble(t *testing.T, e engine.Engine, words ...string) {
	t.Helper()
	end := time.Now().Add(patience)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := e.Health(t.Context())
		missing := false
		for _, w := range words {
			missing = missing || err == nil || !strings.Contains(err.Error(), w)
		}
		switch {
		case !missing && errors.Is(err, engine.ErrUnavailable):
			return
		case time.Now().After(end):
			t.Fatalf("Health says %v; want %q", err, words)
		}
		<-again.C
	}
}

// TestExternalSuite runs the suite against a server elsewhere. Each case has a
// namespace of its own, since all use the same sessions.
func TestExternalSuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := openFolder(dir, defaultNamespace, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	const most = 40
	for n := range most {
		if err := makeNamespace(database(f.path(mainFile), opened.Add(1)), fmt.Sprintf("case-%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	s := stand(t, ServerOptions{Dir: dir})
	var used atomic.Int64
	t.Run("all", func(t *testing.T) {
		enginetest.Run(t, func(t *testing.T, timing engine.Timing) engine.Engine {
			t.Helper()
			x := s.external()
			x.Namespace = fmt.Sprintf("case-%d", used.Add(1))
			return New(Options{External: x, Ledger: "led_suite", Timing: timing, Log: slog.New(newRecord())})
		}, enginetest.Capabilities{
			Durable: true, Elsewhere: true,
			Kill: func(t *testing.T, e engine.Engine, timing engine.Timing) engine.Engine {
				t.Helper()
				dead := e.(*external)
				dead.killed.Store(true)
				if err := dead.end(t.Context(), errors.New("killed by the test")); err != nil {
					t.Fatalf("kill: %v", err)
				}
				return New(Options{External: &dead.to, Ledger: "led_suite", Timing: timing, Log: slog.New(newRecord())})
			},
		})
	})
}

func TestExternalDownAtStart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	d := atOnce()
	e := reachOut(t, &External{Address: address, Namespace: defaultNamespace}, "led_a", d)
	awaitTrouble(t, e, address, "cannot be reached")
	if err := e.Wake(t.Context(), "a", 1); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Wake: %v; want ErrUnavailable", err)
	}
	if id := e.ID(); id != "" {
		t.Errorf("the id of what was never reached is %q", id)
	}
	stand(t, ServerOptions{Listen: address})
	up := time.Now()
	if id := d.awaitEngine(t); id == "" || id != e.ID() {
		t.Errorf("Connected tells %q, the engine %q", id, e.ID())
	}
	t.Logf("reached %v after the server was ready", time.Since(up).Round(time.Millisecond))
	d.accept(t, e, "a")
	d.await(t, "a", "its work is done", ended)
}

// TestExternalGoneAndBack stops the server while an attempt runs. The attempt goes
// on and is not run twice; the sessions go on when the server is back.
func TestExternalGoneAndBack(t *testing.T) {
	t.Parallel()
	s, d := stand(t, ServerOptions{}), newDesk()
	e := reachOut(t, s.external(), "led_a", d)
	id := d.awaitEngine(t)
	d.accept(t, e, "a")
	d.await(t, "a", "it runs", isRunning)
	s.stop()
	awaitTrouble(t, e, s.o.Listen)
	d.edit("b", func(x *deskSession) { x.revision++; x.waiting = true }) // accepted meanwhile
	s.start()
	up := time.Now()
	if again := d.awaitEngine(t); again != id {
		t.Errorf("the id went from %s to %s over the same files", id, again)
	}
	t.Logf("reached again %v after the server was back", time.Since(up).Round(time.Millisecond))
	close(d.gate)
	d.tell(t, e, "a")
	d.tell(t, e, "b")
	for _, session := range []string{"a", "b"} {
		if got := d.await(t, session, "its work is done", ended); got.runs != 1 || got.cut != 0 {
			t.Errorf("session %s: %+v; want one run, not cut short", session, got)
		}
		t.Logf("%s was done %v after the server was back", session, time.Since(up).Round(time.Millisecond))
	}
	d.accept(t, e, "a")
	d.await(t, "a", "more work is done", func(s deskSession) bool { return s.done == 2 })
}

// TestExternalLostDatabase empties the server's folder while an attempt runs: the
// engine is another one, and what is told to it goes on.
func TestExternalLostDatabase(t *testing.T) {
	t.Parallel()
	s, d := stand(t, ServerOptions{}), newDesk()
	e := reachOut(t, s.external(), "led_a", d)
	id := d.awaitEngine(t)
	d.accept(t, e, "a")
	d.await(t, "a", "it runs", isRunning)
	s.stop()
	files, err := filepath.Glob(filepath.Join(s.o.Dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of the server: %v", err)
	}
	for _, file := range files {
		remove(t, file)
	}
	s.start()
	if again := d.awaitEngine(t); again == id || again != e.ID() {
		t.Errorf("the id stayed %s over another database; the engine says %s", again, e.ID())
	}
	d.tell(t, e, "a") // as everything open is
	close(d.gate)
	if got := d.await(t, "a", "its work is done", ended); got.runs != 1 || got.cut != 0 {
		t.Errorf("session a: %+v; want one run, not cut short", got)
	}
	d.accept(t, e, "a")
	d.await(t, "a", "more work is done", func(s deskSession) bool { return s.done == 2 })
}

func TestExternalNamespaceIsMissing(t *testing.T) {
	t.Parallel()
	s, d := stand(t, ServerOptions{}), atOnce()
	x := s.external()
	x.Namespace = "absent"
	e := reachOut(t, x, "led_a", d)
	awaitTrouble(t, e, s.o.Listen, `"absent"`, EnvNamespace)
	s.stop()
	s.o.Namespace = "absent" // is made
	s.start()
	d.awaitEngine(t)
	d.accept(t, e, "a")
	d.await(t, "a", "its work is done", ended)
}

// TestExternalIsShared has two ledgers on one namespace, of which one stands still.
func TestExternalIsShared(t *testing.T) {
	t.Parallel()
	s, one, two := stand(t, ServerOptions{}), atOnce(), atOnce()
	first, second := reachOut(t, s.external(), "led_one", one), reachOut(t, s.external(), "led_two", two)
	if one.awaitEngine(t) != two.awaitEngine(t) {
		t.Error("two ledgers see two engines")
	}
	const sessions = 20
	for n := range sessions {
		one.accept(t, first, fmt.Sprintf("one-%d", n))
		two.accept(t, second, fmt.Sprintf("two-%d", n))
	}
	for n := range sessions {
		one.await(t, fmt.Sprintf("one-%d", n), "its work is done", ended)
		two.await(t, fmt.Sprintf("two-%d", n), "its work is done", ended)
	}
	for name, d := range map[string]*desk{"one": one, "two": two} {
		d.mu.Lock()
		for session := range d.work {
			if !strings.HasPrefix(session, name+"-") {
				t.Errorf("ledger %s was asked about the session %s", name, session)
			}
		}
		d.mu.Unlock()
	}
}

// TestExternalStopsWhileTheServerIsGone shows that nobody waits for the dead.
func TestExternalStopsWhileTheServerIsGone(t *testing.T) {
	t.Parallel()
	s, d := stand(t, ServerOptions{}), newDesk()
	e := reachOut(t, s.external(), "led_a", d)
	d.awaitEngine(t)
	d.accept(t, e, "a")
	d.await(t, "a", "it runs", isRunning)
	s.stop()
	awaitTrouble(t, e, s.o.Listen)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	if err := e.Stop(ctx); err != nil {
		t.Errorf("Stop: %v", err)
	}
	t.Logf("stopped in %v", time.Since(began).Round(time.Millisecond))
	if got := d.await(t, "a", "it was told to stop", func(s deskSession) bool { return !s.running }); got.cut != 1 {
		t.Errorf("session a: %+v; want that its run was cut", got)
	}
}

func write(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
