package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker/dockertest"
	"github.com/cadre-dev/cadre/internal/sandbox/localprocess"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// subject is a driver that the attempts are made against.
type subject struct {
	name string
	// open is a server whose sandboxes have 256 MB of memory, 128 processes and files of
	// 64 MB at most. It ends with the test.
	open func(t *testing.T) *server
}

// subjects are the drivers.
var subjects = []subject{
	{localprocess.Name, localServer},
	{"docker", func(t *testing.T) *server {
		dockertest.Shared(t).Image(t, dockerImage)
		return dockerServer(t, folder(t), id.New("own"))
	}},
}

// sentinel is in everything of this machine that nobody inside may see.
const sentinel = "sentinel-7f3a-of-the-host"

// host is what attempts aim at.
type host struct {
	secret   string // a file of the data folder
	socket   string // an engine's socket, as it were
	port     string // of a listener on 127.0.0.1
	abstract string // the name of an abstract socket
	pid      int    // of this process
	other    string // the id of another sandbox, which holds the sentinel
}

func newHost(t *testing.T, s *server) host {
	t.Helper()
	dir := folder(t)
	h := host{secret: filepath.Join(dir, "operator.token"), socket: filepath.Join(dir, "engine.sock"), abstract: id.New("abs"), pid: os.Getpid(), other: "ses_other"}
	if err := os.WriteFile(h.secret, []byte(sentinel), 0o644); err != nil { //nolint:gosec // it must be the sandbox that keeps it
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	_, h.port, _ = net.SplitHostPort(listen("tcp", "127.0.0.1:0").Addr().String())
	listen("unix", "@"+h.abstract)
	listen("unix", h.socket)
	if err := os.Chmod(h.socket, 0o777); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	other := s.inside(t, h.other)
	if err := other.Replace(t.Context(), workspace.Replacement{Path: "mine.txt", Data: []byte(sentinel), Before: workspace.Absent, Token: "t"}); err != nil {
		t.Fatal(err)
	}
	return h
}

// attempt is a line that is run inside, and what must come of it. HOST names in it stand
// for what host has.
type attempt struct {
	name, line string
	want       string // a regular expression of what it prints
}

// The refusals.
const (
	denied  = `(?i)denied|not permitted|read-only`
	nowhere = `(?i)no such file|denied|not permitted|can't open|nonexistent`
	refusal = `refused:`
	none    = `^$`
)

// fill puts the host's names into a line.
func (h host) fill(line string) string {
	return strings.NewReplacer("SECRET", h.secret, "SOCKET", h.socket, "PORT", h.port, "ABSTRACT", h.abstract, "PID", fmt.Sprint(h.pid),
		"OTHER", h.other).Replace(line)
}

// TestEscapes: what runs inside reaches nothing of this machine, of the server or of other
// sandboxes, gets no rights, and takes no more than its bounds. After each attempt the
// sandbox still works.
func TestEscapes(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", sentinel) // of the server
	t.Setenv("CADRE_DATABASE_URL", "postgres://"+sentinel)
	if len(attempts) < 60 {
		t.Errorf("there are only %d attempts", len(attempts))
	}
	program := probe(t)
	for _, sub := range subjects {
		t.Run(sub.name, func(t *testing.T) {
			s := sub.open(t)
			ws := s.inside(t, "ses_escape")
			t.Cleanup(func() {
				for _, session := range []string{"ses_escape", "ses_other"} {
					if err := s.Deprovision(context.Background(), sandbox.Key{Scope: sandbox.Session, ID: session}); err != nil {
						t.Error(err)
					}
				}
				s.end(t)
			})
			h := newHost(t, s)
			if err := ws.Replace(t.Context(), workspace.Replacement{Path: "probe", Data: program, Before: workspace.Absent, Token: "t"}); err != nil {
				t.Fatal(err)
			}
			for _, a := range append(controls, attempts...) {
				t.Run(a.name, func(t *testing.T) { a.make(t, ws, h) })
			}
		})
	}
}

// make makes the attempt.
func (a attempt) make(t *testing.T, ws workspace.Workspace, h host) {
	t.Helper()
	got := run(t, ws, h.fill(a.line))
	if !regexp.MustCompile(a.want).MatchString(got) {
		t.Errorf("%s\nprints %q, want %s", a.line, got, a.want)
	}
	for _, word := range []string{sentinel, "GIVEN", "ESCAPED", "UNKNOWN", "not found", "it may ask"} {
		if strings.Contains(got, word) {
			t.Errorf("%s\nprints %q", a.line, got)
		}
	}
	if still := run(t, ws, "echo still here"); still != "still here" {
		t.Fatalf("after it the sandbox answers %q", still)
	}
	if data, err := os.ReadFile(h.secret); string(data) != sentinel {
		t.Fatalf("the host's file holds %q, %v", data, err)
	}
}

// most bounds what is looked at of an output.
const most = 4000

// run runs a line inside.
func run(t *testing.T, ws workspace.Workspace, line string) string {
	t.Helper()
	p, err := ws.Start(t.Context(), workspace.Command{ID: id.New("cmd"), Session: "s", Execution: "x", Line: "cd /workspace; " + line})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Errorf("%s does not end", line)
		if err := p.End(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	out := strings.TrimSpace(string(p.Output(0).Text))
	return out[:min(len(out), most)]
}

// probe builds the program that asks the kernel.
func probe(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "probe")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "./testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
