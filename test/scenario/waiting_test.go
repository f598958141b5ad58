package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/test/built"
)

const careful = `apiVersion: agentic.cadre.dev/v1
kind: Agent
metadata: {slug: writer}
spec: {instructions: Be careful with it., model: scripted:script.yaml, tools: [write]}
`

// tries is how often a server is stopped between a call's registration and its
// effect before the test gives up. One or two are usual.
const tries = 30

// The outcome of a call that had begun when the server died, whose file somebody
// else changed meanwhile, is known to nobody: the turn waits, and exits with 4.
func TestATurnThatWaitsExitsWithFour(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := built.Start(t, filepath.Join(dir, "data"))
	script := fmt.Sprintf("turns:\n  - steps:\n      - tools: [{name: write, args: {path: big.txt, content: %q}}]\n      - text: Written.\n  - steps: [{text: \"You said: {{user}}\"}]\n", strings.Repeat("all work and no play ", 40_000))
	for name, text := range map[string]string{"agent.yaml": careful, "script.yaml": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.MustRun(t, dir, "apply", "-f", "agent.yaml")
	session := interrupted(t, s, dir)

	got := s.Run(t, dir, "attach", session)
	if got.Code != 4 || !strings.Contains(got.Out, "? write big.txt · It is not known whether this call took effect") ||
		!strings.Contains(got.Out, "waiting for: outcome_unknown\n  look at what the call did, then let the turn go on: cadre recover "+session+"\n") {
		t.Fatalf("exit %d:\n%s%s", got.Code, got.Out, got.Err)
	}
	if out := s.MustRun(t, dir, "get", "session", session, "-o", "json"); !strings.Contains(out, `"waitingFor": "outcome_unknown"`) {
		t.Errorf("the session is %s", out)
	}
	if data, err := os.ReadFile(filepath.Join(workOf(dir), "big.txt")); err != nil || string(data) != "theirs" {
		t.Errorf("the file was touched: %.40q (%v)", data, err)
	}

	// The next message is the person's word on it.
	if out := s.MustRun(t, dir, "send", session, "-m", "Leave it."); !strings.Contains(out, "You said: Leave it.") {
		t.Errorf("the message was answered with %s", out)
	}
	if out := s.MustRun(t, dir, "attach", session); !strings.Contains(out, "cut short by outcome_unknown") {
		t.Errorf("the session shows %s", out)
	}
}

func workOf(dir string) string { return filepath.Join(dir, "work") }

// interrupted begins turns until the server was stopped between the registration
// of a call and its effect, gives the file another content, kills the server and
// starts it again.
func interrupted(t *testing.T, s *built.Server, dir string) (session string) {
	t.Helper()
	for range tries {
		if err := os.RemoveAll(workOf(dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(workOf(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		res, err := s.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{
			Agent: "writer", Message: "Write it.",
			Workspace: &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: workOf(dir)}}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		session = res.Msg.GetSession().GetMetadata().GetId()
		s.AwaitType(t, session, "agent.tool.started", 1)
		if err := syscall.Kill(s.PID(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(workOf(dir), "big.txt")
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			if err := os.WriteFile(file, []byte("theirs"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			s.Start(t)
			return session
		}
		if err := syscall.Kill(s.PID(), syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		s.AwaitType(t, session, "turn.completed", 1)
	}
	t.Fatalf("in %d turns the server was never stopped in time", tries)
	return ""
}
