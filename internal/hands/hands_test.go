package hands_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/hands"
	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/local"
	"github.com/cadre-dev/cadre/internal/workspace/remote"
	"github.com/cadre-dev/cadre/internal/workspace/workspacetest"
)

// far is a sandbox whose program runs in this process, and whose connection can be cut.
type far struct {
	t      *testing.T
	dir    string
	socket string
	link   *remote.Link

	mu    sync.Mutex
	conns []*gate
	hold  bool // no connection is made while it is set
	stop  context.CancelFunc
	done  chan struct{}
}

// gate is a connection that can be cut, after a number of further bytes of answers if that
// is wanted.
type gate struct {
	net.Conn
	mute func() bool
}

func (g *gate) Write(p []byte) (int, error) {
	if g.mute != nil && g.mute() {
		_ = g.Close()
		return 0, net.ErrClosed
	}
	return g.Conn.Write(p)
}

func newFar(t *testing.T, dir string) *far {
	t.Helper()
	f := &far{t: t, dir: dir, socket: filepath.Join(t.TempDir(), "s")}
	l, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	f.link = remote.Listen(l, 2*time.Second)
	f.boot("boot_1")
	t.Cleanup(func() {
		f.kill()
		_ = f.link.Close()
	})
	return f
}

// boot starts the program inside.
func (f *far) boot(name string) {
	f.t.Helper()
	forest, err := proctree.Open(context.Background(), proctree.Options{Dir: f.t.TempDir(), Boot: name, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.t.Fatal(err)
	}
	h, err := hands.New(hands.Options{Host: local.NewHost(forest), Root: f.dir, Boot: name, UID: os.Getuid()})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.stop, f.done = cancel, make(chan struct{})
	go func() {
		defer close(f.done)
		_ = h.Serve(ctx, f.dial, slog.New(slog.DiscardHandler))
		if err := forest.Close(context.Background()); err != nil {
			f.t.Error(err)
		}
		_ = h.Close()
	}()
}

// kill ends the program inside with all that it started.
func (f *far) kill() {
	f.stop()
	<-f.done
}

func (f *far) dial(ctx context.Context) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hold {
		return nil, errors.New("held")
	}
	c, err := hands.Unix(f.socket)(ctx)
	if err != nil {
		return nil, err
	}
	g := &gate{Conn: c}
	f.conns = append(f.conns, g)
	return g, nil
}

// cut breaks every connection; with hold none is made until release.
func (f *far) cut(hold bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = hold
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
}

func (f *far) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = false
}

func (f *far) open() workspace.Workspace {
	f.t.Helper()
	w, err := f.link.Open(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

func openFar(t *testing.T, dir string) workspace.Workspace {
	t.Helper()
	return newFar(t, dir).open()
}

// Every promise of a workspace holds over the connection as well.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	workspacetest.Run(t, openFar)
}

func TestCommands(t *testing.T) {
	t.Parallel()
	workspacetest.RunCommands(t, openFar)
}

const patience = 20 * time.Second

func ended(t *testing.T, p workspace.Process) workspace.Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("%s does not end", p.Command().Line)
	}
	return p.Exit()
}

func command(id, line string) workspace.Command {
	return workspace.Command{ID: id, Session: "ses_1", Execution: "aex_1", Line: line, Background: true}
}

// A process goes on when the connection breaks, and nothing of what it prints is missing.
func TestAProcessOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	f := newFar(t, t.TempDir())
	w := f.open()
	p, err := w.Start(t.Context(), command("p", "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); sleep 0.003; done"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		for want := "line " + string(rune('1'+n)) + "0\n"; !strings.Contains(string(p.Output(0).Text), want); {
			<-time.NewTimer(time.Millisecond).C
		}
		f.cut(false)
	}
	if exit := ended(t, p); exit.Code != 0 || exit.Signal != "" {
		t.Errorf("it ended with %+v", exit)
	}
	lines := strings.Split(strings.TrimSpace(string(p.Output(0).Text)), "\n")
	if len(lines) != 300 || lines[299] != "line 299" {
		t.Errorf("of 300 lines %d arrived, the last %q", len(lines), lines[len(lines)-1])
	}
}

// What reads is asked again when its connection breaks, and what writes is done once.
func TestCallsOutliveTheirConnection(t *testing.T) {
	t.Parallel()
	f := newFar(t, t.TempDir())
	w := f.open()
	for range 20 {
		f.cut(false)
		if err := w.Replace(t.Context(), workspace.Replacement{Path: "a.txt", Data: []byte("one"), Before: workspace.Absent, Token: "t"}); err != nil {
			t.Fatal(err)
		}
		f.cut(false)
		if data, err := w.Read(t.Context(), "a.txt", 100); string(data) != "one" || err != nil {
			t.Fatalf("it reads %q, %v", data, err)
		}
		if err := w.Replace(t.Context(), workspace.Replacement{Path: "a.txt", Remove: true, Token: "t"}); err != nil {
			t.Fatal(err)
		}
	}
}

// answerless makes the next connection break as soon as an answer would be sent.
func (f *far) answerless(t *testing.T) *bool {
	t.Helper()
	muted := new(bool)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.mute = func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return *muted
		}
	}
	return muted
}

// A command whose acknowledgement was lost is not run a second time, and is found: the
// program inside is the same.
func TestALostAcknowledgement(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFar(t, dir)
	w := f.open()
	muted := f.answerless(t)
	f.mu.Lock()
	*muted = true
	f.mu.Unlock()
	p, err := w.Start(t.Context(), command("p", "echo x >>runs; sleep 0.05"))
	if err != nil {
		t.Fatal(err)
	}
	ended(t, p)
	if data, err := os.ReadFile(filepath.Join(dir, "runs")); string(data) != "x\n" {
		t.Errorf("it ran so: %q, %v", data, err)
	}
}

// T18: when the program that got the command is gone and nobody answered, it is not known
// whether it ran, and it is not sent again.
func TestAStartThatNobodyKnowsOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFar(t, dir)
	w := f.open()
	muted := f.answerless(t)
	f.mu.Lock()
	*muted, f.hold = true, true
	f.mu.Unlock()
	go func() {
		for f.link.Connected() {
			<-time.NewTimer(time.Millisecond).C
		}
		f.kill()
		f.boot("boot_2")
		f.release()
	}()
	_, err := w.Start(t.Context(), command("p", "echo x >>runs"))
	var unknown *workspace.StartUnknown
	if !errors.As(err, &unknown) {
		t.Errorf("the start answers %v", err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "runs")); strings.Count(string(data), "x") > 1 {
		t.Errorf("it ran so: %q", data)
	}
}

// T19: without a connection nothing was sent, which is proven and told.
func TestAStartThatWasNotSent(t *testing.T) {
	t.Parallel()
	f := newFar(t, t.TempDir())
	w := f.open()
	f.cut(true)
	for f.link.Connected() {
		<-time.NewTimer(time.Millisecond).C
	}
	_, err := w.Start(t.Context(), command("p", "true"))
	var unavailable *workspace.StartUnavailable
	if !errors.As(err, &unavailable) {
		t.Errorf("the start answers %v", err)
	}
	if _, err := w.Read(t.Context(), "x", 1); !errors.Is(err, workspace.ErrFailed) {
		t.Errorf("a read answers %v", err)
	}
}

// A process whose sandbox is gone has ended, as if it was killed.
func TestAProcessEndsWithItsSandbox(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(*far){
		"the program": func(f *far) { f.kill(); f.boot("boot_2") },
		"the link":    func(f *far) { _ = f.link.Close() },
	} {
		f := newFar(t, t.TempDir())
		p, err := f.open().Start(t.Context(), command("p", "sleep 1000"))
		if err != nil {
			t.Fatal(err)
		}
		gone(f)
		if exit := ended(t, p); exit.Code != 137 {
			t.Errorf("%s: it ended with %+v", name, exit)
		}
	}
}

// An execution's end takes its processes inside.
func TestEndByOwner(t *testing.T) {
	t.Parallel()
	f := newFar(t, t.TempDir())
	w := f.open()
	var all []workspace.Process
	for _, x := range []string{"aex_1", "aex_2"} {
		c := command("p"+x, "setsid sleep 1000 & trap '' TERM; sleep 1000; sleep 1000")
		c.Execution = x
		p, err := w.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if err := f.link.End(t.Context(), "ses_1", "aex_1", false); err != nil {
		t.Fatal(err)
	}
	ended(t, all[0])
	select {
	case <-all[1].Done():
		t.Error("the other execution's process ended too")
	default:
	}
	if err := f.link.End(t.Context(), "ses_1", "", true); err != nil {
		t.Fatal(err)
	}
	ended(t, all[1])
	if _, err := w.Process("ses_1", "nobody"); !errors.Is(err, workspace.ErrNoProcess) {
		t.Errorf("a process that is not there: %v", err)
	}
}
