package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

// job is a turn that edits files step by step, and what it must leave.
type job struct {
	server  *built.Server
	folder  string
	steps   int
	session string
}

// begin declares the agent and starts the turn.
func begin(t *testing.T, steps int, delay time.Duration) *job {
	t.Helper()
	dir := t.TempDir()
	j := &job{server: built.Start(t, filepath.Join(dir, "data")), folder: filepath.Join(dir, "work"), steps: steps}
	path := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(path, []byte(j.script(delay)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(j.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := j.server.Agents().Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "editor"},
		Spec: &agentv1.AgentSpec{
			Instructions: "Edit step by step.", Model: "scripted:" + path, Tools: []string{"write", "edit", "read"},
			Limits: &agentv1.AgentLimits{MaxModelCalls: 10000},
		},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	res, err := j.server.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{
		Agent: "editor", Message: "Edit.",
		Workspace: &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: j.folder}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	j.session = res.Msg.GetSession().GetMetadata().GetId()
	return j
}

// script plays one tool call per step. The first writes a file with a mark for
// each other step, and each of those adds one sign behind its mark; done twice,
// it would add two. Every fourth step writes a file of its own besides.
func (j *job) script(delay time.Duration) string {
	var s strings.Builder
	s.WriteString("steps:\n")
	step := func(calls ...string) {
		fmt.Fprintf(&s, "  - delay: %s\n    text: Working.\n    tools: [%s]\n", delay, strings.Join(calls, ", "))
	}
	step(fmt.Sprintf("{name: write, args: {path: book.txt, content: %q}}", j.book("")))
	for i := 1; i < j.steps; i++ {
		calls := []string{fmt.Sprintf("{name: edit, args: {path: book.txt, old_text: %q, new_text: %q}}", mark(i), mark(i)+"!")}
		if i%4 == 0 {
			calls = append(calls, fmt.Sprintf("{name: write, args: {path: %q, content: %q}}", page(i), page(i)+"\n"))
		}
		step(calls...)
	}
	s.WriteString("  - text: All steps are done.\n")
	return s.String()
}

func mark(i int) string { return fmt.Sprintf("(%03d)", i) }

func page(i int) string { return fmt.Sprintf("pages/%03d.txt", i) }

// book is the file's content, with sign behind each mark.
func (j *job) book(sign string) string {
	var s strings.Builder
	for i := 1; i < j.steps; i++ {
		s.WriteString(mark(i) + sign + "\n")
	}
	return s.String()
}

// calls is how many tool calls the script makes.
func (j *job) calls() int { return j.steps + (j.steps-1)/4 }

func (j *job) events(t *testing.T) []*eventv1.Event {
	t.Helper()
	var all []*eventv1.Event
	for after := ""; ; {
		res, err := j.server.Sessions().ListEvents(t.Context(), connect.NewRequest(&sessionv1.ListEventsRequest{SessionId: j.session, After: after, Limit: 1000}))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.Msg.GetEvents()...)
		if after = res.Msg.GetNext(); after == "" {
			return all
		}
	}
}
