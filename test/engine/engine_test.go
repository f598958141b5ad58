// Package engine looks at what the built binary and its durable engine make of each
// other: what the engine keeps, and what is left when it is damaged, gone or another.
// The promise is that the ledger holds all that counts.
package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

func TestMain(m *testing.M) { built.Main(m) }

// declare makes an agent that plays a script.
func declare(t *testing.T, s *built.Server, slug, instructions, script string, tools ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.yaml")
	put(t, path, script)
	_, err := s.Agents().Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: slug},
		Spec: &agentv1.AgentSpec{
			Instructions: instructions, Model: "scripted:" + path, Tools: tools, Limits: &agentv1.AgentLimits{MaxModelCalls: 10000},
		},
	}}))
	if err != nil {
		t.Fatal(err)
	}
}

// say begins a session of the agent in a folder.
func say(t *testing.T, s *built.Server, agent, message, folder string) (session string) {
	t.Helper()
	res, err := s.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{
		Agent: agent, Message: message,
		Workspace: &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: folder}}},
	}))
	if err != nil {
		t.Fatalf("an input is refused: %v", err)
	}
	return res.Msg.GetSession().GetMetadata().GetId()
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func count(events []*eventv1.Event, typ string) int {
	n := 0
	for _, e := range events {
		if e.GetType() == typ {
			n++
		}
	}
	return n
}

// tally is a turn that counts in a file: each step adds one sign, so that a step
// that was done twice or not at all shows.
type tally struct {
	server  *built.Server
	folder  string
	session string
}

const tallySteps = 12

// declareTally declares the agent of tallies.
func declareTally(t *testing.T, s *built.Server, delay string) {
	t.Helper()
	var script strings.Builder
	fmt.Fprintf(&script, "steps:\n  - tools: [{name: write, args: {path: tally.txt, content: \"end\"}}]\n")
	for range tallySteps {
		fmt.Fprintf(&script, "  - delay: %s\n    tools: [{name: edit, args: {path: tally.txt, old_text: end, new_text: Iend}}]\n", delay)
	}
	script.WriteString("  - text: Counted.\n")
	declare(t, s, "counter", "Count step by step.", script.String(), "write", "edit")
}

func beginTally(t *testing.T, s *built.Server) *tally {
	t.Helper()
	y := &tally{server: s, folder: t.TempDir()}
	y.session = say(t, s, "counter", "Count.", y.folder)
	return y
}

// working waits until some steps were done.
func (y *tally) working(t *testing.T) {
	t.Helper()
	y.server.AwaitType(t, y.session, "agent.tool.completed", 2)
}

// complete waits for the turn's end and checks that each step was done once.
func (y *tally) complete(t *testing.T) {
	t.Helper()
	events := y.server.AwaitType(t, y.session, "turn.completed", 1)
	if n := count(events, "agent.tool.completed"); n != tallySteps+1 {
		t.Errorf("%d calls completed; want %d", n, tallySteps+1)
	}
	data, err := os.ReadFile(filepath.Join(y.folder, "tally.txt"))
	if want := strings.Repeat("I", tallySteps) + "end"; err != nil || string(data) != want {
		t.Errorf("the tally is %q (%v); want %q", data, err, want)
	}
}
