package temporal

import (
	"bufio"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

const (
	childDir  = "CADRE_ENGINE_TEST_DIR"  // makes the test program a child that works on this folder
	childHang = "CADRE_ENGINE_TEST_HANG" // in which handler it hangs
)

// hangs is handlers of which one never returns; it tells when it is called.
type hangs struct {
	in     string
	called func(what string)
}

func (h hangs) Peek(ctx context.Context, session string) (engine.Decision, error) {
	if h.in == "peek" {
		h.called("peek")
		<-make(chan struct{})
	}
	return engine.Decision{Verb: engine.Run, Execution: "exe", Attempt: "att", Revision: 1}, nil
}

func (h hangs) Run(_ context.Context, a engine.Attempt) error {
	h.called("run")
	<-make(chan struct{})
	return nil
}

func (hangs) Connected(context.Context, string)               {}
func (hangs) Interrupt(context.Context, string, string) error { return nil }

// TestChild is the process that TestKilledProcess kills.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("it is the child of another test")
	}
	d := newDriver(Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Timing: timing})
	h := hangs{in: os.Getenv(childHang), called: func(what string) {
		_, _ = os.Stdout.WriteString("hangs in " + what + "\n")
	}}
	if err := d.Start(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	if err := d.Wake(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	<-make(chan struct{})
}

// TestKilledProcess kills a process that works on a folder and starts an engine on
// it, which is told nothing: the session goes on by itself.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	for _, hang := range []string{"run", "peek"} {
		t.Run(hang, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killChild(t, dir, hang)

			peeked := make(chan time.Time, 100)
			d := open(t, dir, timing)
			begin(t, d, peeks(peeked))
			ready := time.Now()
			select {
			case at := <-peeked:
				t.Logf("the session went on %v after ready", at.Sub(ready).Round(time.Millisecond))
			case <-time.After(time.Minute):
				t.Error("the session did not go on")
			}
		})
	}
}

// peeks is handlers that tell when they are asked and have nothing to do.
type peeks chan time.Time

func (p peeks) Peek(ctx context.Context, session string) (engine.Decision, error) {
	select {
	case p <- time.Now():
	default:
	}
	return idle{}.Peek(ctx, session)
}
func (peeks) Run(context.Context, engine.Attempt) error       { return nil }
func (peeks) Connected(context.Context, string)               {}
func (peeks) Interrupt(context.Context, string, string) error { return nil }

func killChild(t *testing.T, dir, hang string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childDir+"="+dir, childHang+"="+hang)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "hangs in "+hang) {
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
}
