package e2e

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

// wireError is the server's answer inside an error, with its facts.
func wireError(t *testing.T, err error) (connect.Code, *errdetails.ErrorInfo) {
	t.Helper()
	var wire *connect.Error
	if !errors.As(err, &wire) {
		t.Fatalf("%v is no answer of the server", err)
	}
	for _, d := range wire.Details() {
		if m, derr := d.Value(); derr == nil {
			if info, ok := m.(*errdetails.ErrorInfo); ok {
				return wire.Code(), info
			}
		}
	}
	t.Fatalf("%v has no ErrorInfo", err)
	return 0, nil
}

// quality.md, Reliability 6
func TestOneKeyIsOneExecutionAlsoOverARestart(t *testing.T) {
	t.Parallel()
	s := built.Start(t, filepath.Join(t.TempDir(), "data"))
	agent(t, s, "once", script(t, say))
	req := func() *connect.Request[sessionv1.RunAgentRequest] {
		return connect.NewRequest(&sessionv1.RunAgentRequest{Agent: "once", Message: "hello", IdempotencyKey: "the-one"})
	}
	sessions := s.Sessions()
	answers := make([]*sessionv1.RunAgentResponse, 100)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			res, err := sessions.RunAgent(t.Context(), req())
			if err != nil {
				t.Error(err)
				return
			}
			answers[i] = res.Msg
		})
	}
	all.Wait()
	for i, a := range answers {
		if !proto.Equal(a, answers[0]) {
			t.Fatalf("answer %d is another one:\n%v\n%v", i, a, answers[0])
		}
	}
	session := answers[0].GetSession().GetMetadata().GetId()
	s.AwaitType(t, session, "turn.completed", 1)
	counted(t, s, 1)

	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	again, err := s.Sessions().RunAgent(t.Context(), req())
	if err != nil || !proto.Equal(again.Msg, answers[0]) {
		t.Fatalf("after a restart: %v, %v", again, err)
	}
	counted(t, s, 1)

	other := req()
	other.Msg.Message = "something else"
	_, err = s.Sessions().RunAgent(t.Context(), other)
	code, info := wireError(t, err)
	first, second := info.GetMetadata()["first_digest"], info.GetMetadata()["digest"]
	if code != connect.CodeAlreadyExists || first == "" || second == "" || first == second {
		t.Errorf("another body gave %v with %v", err, info)
	}
	counted(t, s, 1)
}

// counted checks how many sessions and turns there are.
func counted(t *testing.T, s *built.Server, want int) {
	t.Helper()
	sessions, err := s.Sessions().List(t.Context(), connect.NewRequest(&resourcev1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	turns, err := s.Executions().List(t.Context(), connect.NewRequest(&resourcev1.ListRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := len(sessions.Msg.GetSessions()), len(turns.Msg.GetAgentExecutions()); a != want || b != want {
		t.Errorf("there are %d sessions and %d turns, want %d of each", a, b, want)
	}
}

func TestAKeyBelongsToItsMethod(t *testing.T) {
	t.Parallel()
	s := shared(t)
	made := agent(t, s, "keyed", script(t, say))
	run := &sessionv1.RunAgentRequest{Agent: "keyed", Message: "hello", IdempotencyKey: "shared-key"}
	session, execution := run2(t, s, run)
	s.AwaitType(t, session, "turn.completed", 1)

	send := connect.NewRequest(&sessionv1.SendMessageRequest{SessionId: session, Message: "more", IdempotencyKey: "shared-key"})
	first, err := s.Sessions().SendMessage(t.Context(), send)
	if err != nil || first.Msg.GetExecution().GetMetadata().GetId() == execution {
		t.Fatalf("the key of a run kept a message out: %v, %v", first, err)
	}
	second, err := s.Sessions().SendMessage(t.Context(), send)
	if err != nil || !proto.Equal(first.Msg, second.Msg) {
		t.Errorf("a repeated message gave %v, %v", second, err)
	}

	// A key of a mutation that was refused is free again.
	apply := &agentv1.ApplyAgentRequest{IdempotencyKey: "refused", Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "keyed-too"},
		Spec: &agentv1.AgentSpec{Instructions: "Be careful with it.", Tools: []string{"hammer"}},
	}}
	if _, err := s.Agents().Apply(t.Context(), connect.NewRequest(apply)); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Fatalf("an unknown tool gave %v", err)
	}
	apply.Agent.Spec.Tools = made.GetSpec().GetTools()
	one, err := s.Agents().Apply(t.Context(), connect.NewRequest(apply))
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.Agents().Apply(t.Context(), connect.NewRequest(apply))
	if err != nil || !proto.Equal(one.Msg, two.Msg) || two.Msg.GetOutcome() != resourcev1.ApplyOutcome_created {
		t.Errorf("a repeated apply gave %v, %v", two, err)
	}
}

func run2(t *testing.T, s *built.Server, req *sessionv1.RunAgentRequest) (session, execution string) {
	t.Helper()
	return run(t.Context(), t, s, req)
}
