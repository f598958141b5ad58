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
	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

// job is a turn that edits files and runs commands step by step, and what it
// must leave.
type job struct {
	server    *built.Server
	folder    string
	steps     int
	session   string
	execution string
}

// begin declares the agent and starts the turn, in a folder of its own.
func begin(t *testing.T, server *built.Server, steps int, delay time.Duration) *job {
	t.Helper()
	dir := t.TempDir()
	j := &job{server: server, folder: filepath.Join(dir, "work"), steps: steps}
	if err := os.MkdirAll(j.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	declare(t, server, "editor", dir, j.script(delay), "write", "edit", "read", "shell")
	j.session, j.execution = run(t, server, "editor", j.folder)
	return j
}

// declare writes a script and applies the agent that plays it.
func declare(t *testing.T, server *built.Server, slug, dir, script string, tools ...string) {
	t.Helper()
	path := filepath.Join(dir, slug+".yaml")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := server.Agents().Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: slug},
		Spec: &agentv1.AgentSpec{
			Instructions: "Work step by step.", Model: "scripted:" + path, Tools: tools, Limits: &agentv1.AgentLimits{MaxModelCalls: 10000},
		},
	}}))
	if err != nil {
		t.Fatal(err)
	}
}

// run gives an agent a message in a new session.
func run(t *testing.T, server *built.Server, agent, folder string) (session, execution string) {
	t.Helper()
	res, err := server.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{
		Agent: agent, Message: "Go.", Approve: agentexecutionv1.ApprovalMode_auto,
		Workspace: &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: folder}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetSession().GetMetadata().GetId(), res.Msg.GetExecution().GetMetadata().GetId()
}

// script plays one step after the other. The first writes a file with a mark for
// each other step; an edit adds one sign behind its mark, and a command one line
// with its mark to another file: done twice, either would stand there twice. Some
// steps do two things.
func (j *job) script(delay time.Duration) string {
	var s strings.Builder
	s.WriteString("steps:\n")
	step := func(calls ...string) {
		fmt.Fprintf(&s, "  - delay: %s\n    text: Working.\n    tools: [%s]\n", delay, strings.Join(calls, ", "))
	}
	step(fmt.Sprintf("{name: write, args: {path: book.txt, content: %q}}", j.book("")))
	for i := 1; i < j.steps; i++ {
		var calls []string
		if edits(i) {
			calls = append(calls, fmt.Sprintf("{name: edit, args: {path: book.txt, old_text: %q, new_text: %q}}", mark(i), mark(i)+"!"))
		}
		if commands(i) {
			calls = append(calls, fmt.Sprintf("{name: shell, args: {command: %q}}", "sleep 0.05; echo '"+mark(i)+"' >>journal.txt; sleep 0.05"))
		}
		step(calls...)
	}
	s.WriteString("  - text: All steps are done.\n")
	return s.String()
}

func edits(i int) bool { return i%3 != 0 || i%2 == 0 }

func commands(i int) bool { return i%3 == 0 }

func mark(i int) string { return fmt.Sprintf("(%03d)", i) }

// book is the file's content, with sign behind the marks of edits.
func (j *job) book(sign string) string {
	var s strings.Builder
	for i := 1; i < j.steps; i++ {
		s.WriteString(mark(i))
		if edits(i) {
			s.WriteString(sign)
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// calls is how many tool calls the script makes.
func (j *job) calls() int {
	n := 1
	for i := 1; i < j.steps; i++ {
		if edits(i) {
			n++
		}
		if commands(i) {
			n++
		}
	}
	return n
}

func (j *job) events(t *testing.T) []*eventv1.Event { return events(t, j.server, j.session) }

// events reads a whole log.
func events(t *testing.T, server *built.Server, session string) []*eventv1.Event {
	t.Helper()
	var all []*eventv1.Event
	for after := ""; ; {
		res, err := server.Sessions().ListEvents(t.Context(), connect.NewRequest(&sessionv1.ListEventsRequest{SessionId: session, After: after, Limit: 1000}))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.Msg.GetEvents()...)
		if after = res.Msg.GetNext(); after == "" {
			return all
		}
	}
}

// status is the ledger's word on a turn.
func status(t *testing.T, server *built.Server, execution string) *agentexecutionv1.AgentExecutionStatus {
	t.Helper()
	x, err := server.Executions().Get(t.Context(), connect.NewRequest(&resourcev1.GetRequest{Ref: execution}))
	if err != nil {
		t.Fatal(err)
	}
	return x.Msg.GetStatus()
}

// goOn is the person who looks after a turn: one that waits because the outcome of
// a command is unknown is let go on. It answers the turn's phase before.
func goOn(t *testing.T, server *built.Server, execution string) agentexecutionv1.ExecutionPhase {
	t.Helper()
	st := status(t, server, execution)
	if st.GetPhase() == agentexecutionv1.ExecutionPhase_waiting && st.GetWaitingFor() == "outcome_unknown" {
		_, err := server.Sessions().Recover(t.Context(), connect.NewRequest(&sessionv1.RecoverRequest{Id: execution}))
		if err != nil && connect.CodeOf(err) != connect.CodeFailedPrecondition {
			t.Fatal(err)
		}
	}
	return st.GetPhase()
}
