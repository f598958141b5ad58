package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/sandbox/docker"
	"github.com/cadre-dev/cadre/internal/sandbox/docker/dockertest"
	"github.com/cadre-dev/cadre/test/built"
)

const dockerAgent = `apiVersion: agentic.cadre.dev/v1
kind: Agent
metadata: {slug: worker}
spec:
  instructions: Do what you are told.
  tools: [read, write, shell]
`

const dockerScript = `turns:
  - steps:
      - text: Let me write that down.
        tools: [{name: write, args: {path: a.txt, content: "hello"}}]
      - tools: [{name: shell, args: {command: "id -u; pwd; cat a.txt; env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; grep -rl SENTINEL /workspace /tmp /run /etc 2>/dev/null"}}]
      - text: Done.
  - steps:
      - tools: [{name: shell, args: {command: "cat a.txt"}}]
      - expect: {last_tool_contains: hello}
        text: Still there.
`

// A turn of a server works in a docker sandbox: its first words are there before the sandbox
// is; the next server finds the sandbox; a deleted session takes it along. No key, token or
// address of the server's is found inside or told by the engine.
func TestDockerTurn(t *testing.T) {
	t.Parallel()
	e := dockertest.Shared(t)
	e.Image(t, "cadre.test/shell:turn")
	program, err := e.Hands(t)("")
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	for name, text := range map[string]string{"agent.yaml": dockerAgent, "script.yaml": strings.ReplaceAll(dockerScript, "SENTINEL", "sentinel-[7]f3a")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := built.New(t, filepath.Join(dir, "data"))
	s.Env = []string{
		sandbox.EnvProvisioner + "=docker", docker.EnvHost + "=" + e.Host, docker.EnvImage + "=cadre.test/shell:turn", sandbox.EnvMemory + "=256m",
		"CADRE_HANDS=" + program, "OPENAI_API_KEY=" + sentinel, "ANTHROPIC_API_KEY=" + sentinel,
	}
	s.Start(t)
	s.MustRun(t, dir, "apply", "-f", "agent.yaml")
	run, err := s.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{
		Agent: "worker", Message: "go", Model: "scripted:" + filepath.Join(dir, "script.yaml"), Approve: agentexecutionv1.ApprovalMode_auto,
	}))
	if err != nil {
		t.Fatal(err)
	}
	session := run.Msg.GetSession().GetMetadata().GetId()
	all := s.AwaitType(t, session, "turn.completed", 1)
	for _, order := range [][2]string{{"sandbox.warming", "sandbox.ready"}, {"agent.message.delta", "sandbox.ready"}, {"sandbox.ready", "agent.tool.started"}} {
		before, after := at(all, order[0]), at(all, order[1])
		if before < 0 || after < before {
			t.Errorf("%s is at %d and %s at %d of %v", order[0], before, order[1], after, types(all))
		}
	}
	printed := said(all)
	if !strings.Contains(printed, `65532\n/workspace\nhello`) {
		t.Errorf("the tools printed %s", printed)
	}
	told := e.Has(t, session)
	if len(told) != 2 { // a container and a volume
		t.Errorf("the engine has %d things of the session", len(told))
	}
	for _, secret := range []string{sentinel, s.Token, strings.TrimPrefix(s.URL, "http://"), "OPENAI_API_KEY", "docker.sock"} {
		if strings.Contains(printed, secret) {
			t.Errorf("inside %s is found: %s", secret, printed)
		}
		for name, text := range told {
			if strings.Contains(text, secret) {
				t.Errorf("the engine tells %s of %s", secret, name)
			}
		}
	}

	// A kill of the server leaves the sandbox, and the next one works in it.
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	if out := s.MustRun(t, dir, "sandbox", "list"); !strings.Contains(out, session) || !strings.Contains(out, "running") {
		t.Errorf("the next server lists %s", out)
	}
	s.MustRun(t, dir, "send", session, "-m", "again", "--approve", "auto")
	if now := e.Has(t, session); len(now) != 2 {
		t.Errorf("the engine has %d things of the session", len(now))
	}
	s.MustRun(t, dir, "delete", "session", session)
	if left := e.Has(t, session); len(left) != 0 {
		t.Errorf("of the deleted session is left %v", left)
	}
}

func types(all []*eventv1.Event) (names []string) {
	for _, e := range all {
		names = append(names, e.GetType())
	}
	return names
}

// at is where the first event of a type is; -1 for nowhere.
func at(all []*eventv1.Event, typ string) int { return slices.Index(types(all), typ) }

// said is what the tools answered.
func said(all []*eventv1.Event) string {
	var b strings.Builder
	for _, e := range all {
		if strings.HasPrefix(e.GetType(), "agent.tool.") {
			b.WriteString(e.String())
		}
	}
	return b.String()
}
