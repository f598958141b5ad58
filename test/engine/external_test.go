package engine

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/test/built"
)

// standTime bounds the start of a Temporal server.
const standTime = time.Minute

// standing is a Temporal server in a process of its own, which can be killed and
// started again on the same address.
type standing struct {
	binary, dir, address string
	cmd                  *exec.Cmd
}

// stand builds the server of test/temporald and starts it.
func stand(t *testing.T) *standing {
	t.Helper()
	root, err := built.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &standing{binary: filepath.Join(dir, "temporald"), dir: filepath.Join(dir, "files"), address: "127.0.0.1:0"}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", s.binary, "./test/temporald")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("temporald cannot be built: %v\n%s", err, out)
	}
	t.Cleanup(func() { s.kill(t) })
	s.start(t)
	return s
}

// start runs it until it answers. Another program may have the port for a moment.
func (s *standing) start(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(standTime); time.Now().Before(end); {
		s.cmd = exec.Command(s.binary, "-dir", s.dir, "-listen", s.address)
		out, err := s.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "ready "); ok {
			s.address = address
			return
		}
		s.kill(t)
	}
	t.Fatalf("temporald did not start at %s", s.address)
}

// kill ends it as a power failure would.
func (s *standing) kill(t *testing.T) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// elsewhere is a server whose engine is at an address.
func elsewhere(t *testing.T, address string) *built.Server {
	t.Helper()
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.Data, "engine")); err != nil {
		t.Fatal(err)
	}
	s.Env = []string{"CADRE_TEMPORAL_ADDRESS=" + address}
	s.Start(t)
	return s
}

// The engine is elsewhere, and has every misfortune one after the other. What was
// accepted is done, each step once.
func TestExternalEngineComesAndGoes(t *testing.T) {
	t.Parallel()
	engine := stand(t)
	engine.kill(t)
	s := elsewhere(t, engine.address)
	declareTally(t, s, "100ms")
	if said := s.MustRun(t, t.TempDir(), "status"); !strings.Contains(said, "degraded") || !strings.Contains(said, engine.address) {
		t.Errorf("without its engine the server says:\n%s", said)
	}

	began := time.Now()
	stage := func(what string) { t.Logf("%s after %v", what, time.Since(began).Round(time.Millisecond)) }
	early := beginTally(t, s) // down at start
	engine.start(t)
	stage("first engine")
	early.complete(t)
	stage("early turn")

	running := beginTally(t, s) // gone in mid-turn
	running.working(t)
	engine.kill(t)
	running.complete(t)
	stage("running turn")
	meanwhile := beginTally(t, s)
	engine.start(t)
	stage("second engine")
	meanwhile.complete(t)
	stage("turn of meanwhile")

	lost := beginTally(t, s) // gone with its database
	lost.working(t)
	engine.kill(t)
	if err := os.RemoveAll(engine.dir); err != nil {
		t.Fatal(err)
	}
	waiting := beginTally(t, s)
	engine.start(t)
	stage("third engine")
	lost.complete(t)
	stage("turn of the lost engine")
	waiting.complete(t)
	stage("waiting turn")

	recovered := beginTally(t, s) // the engine stays and the server dies
	recovered.working(t)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	recovered.takenUp(t)
	recovered.complete(t)
	stage("recovered turn")

	if _, err := os.Stat(filepath.Join(s.Data, "engine")); !os.IsNotExist(err) {
		t.Errorf("an external engine left files in the data folder (%v)", err)
	}
}

// recoveryTime is how soon after its readiness a server takes a turn up again.
const recoveryTime = 5 * time.Second

func (y *tally) takenUp(t *testing.T) {
	t.Helper()
	events := y.server.AwaitType(t, y.session, "turn.recovery.requested", 1)
	after := events[len(events)-1].GetOccurredAt().AsTime().Sub(y.server.Ready)
	t.Logf("the turn was taken up %v after the server was ready", after.Round(time.Millisecond))
	if after > recoveryTime {
		t.Errorf("the turn was taken up %v after the server was ready; want at most %v", after, recoveryTime)
	}
}
