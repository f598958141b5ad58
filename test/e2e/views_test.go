package e2e

import (
	"slices"
	"testing"

	"connectrpc.com/connect"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

func TestConnectStreamsWhatServerSentEventsDo(t *testing.T) {
	t.Parallel()
	s := shared(t)
	session := talk(t, s, "both")
	sse := durable(open(t, s, session, "", "").until(t, "turn.completed", 1))
	for name, opts := range map[string][]connect.ClientOption{"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()}} {
		stream, err := s.Sessions(opts...).SubscribeEvents(t.Context(), connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: session}))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(sse) && stream.Receive(); {
			f := stream.Msg()
			if f.GetEvent() == nil {
				continue
			}
			if f.GetId() != sse[i].id || f.GetEvent().GetType() != sse[i].event || f.GetEvent().GetSeq() != int64(i+1) {
				t.Errorf("%s: frame %d is %s %s, and %s %s as a server-sent event", name, i, f.GetId(), f.GetEvent().GetType(), sse[i].id, sse[i].event)
			}
			if i++; i == len(sse) && f.GetEvent().GetType() != "turn.completed" {
				t.Errorf("%s: the last frame is %s", name, f.GetEvent().GetType())
			}
		}
		_ = stream.Close()
	}

	// A list is the same log once more.
	list, err := s.Sessions().ListEvents(t.Context(), connect.NewRequest(&sessionv1.ListEventsRequest{SessionId: session, Limit: 1000}))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range sse {
		if e := list.Msg.GetEvents()[i]; e.GetSeq() != int64(i+1) || e.GetType() != f.event {
			t.Errorf("event %d of the list is %d %s", i, e.GetSeq(), e.GetType())
		}
	}
}

func TestATranscriptFoldsWhatHappened(t *testing.T) {
	t.Parallel()
	s := shared(t)
	session := talk(t, s, "folded")
	events := s.AwaitType(t, session, "turn.completed", 1)
	if _, err := s.Sessions().SendMessage(t.Context(), connect.NewRequest(&sessionv1.SendMessageRequest{SessionId: session, Message: "again"})); err != nil {
		t.Fatal(err)
	}
	s.Await(t, session, func(e *eventv1.Event) bool { return e.GetSeq() > int64(len(events)) && e.GetType() == "turn.completed" })
	s.AwaitType(t, session, "session.status.changed", 4)
	res, err := s.Sessions().GetTranscript(t.Context(), connect.NewRequest(&sessionv1.GetTranscriptRequest{SessionId: session}))
	if err != nil {
		t.Fatal(err)
	}
	turns := res.Msg.GetTurns()
	if len(turns) != 2 {
		t.Fatalf("there are %d turns", len(turns))
	}
	for i, turn := range turns {
		var shape []string
		for _, e := range turn.GetEntries() {
			switch e := e.GetEntry().(type) {
			case *sessionv1.TranscriptEntry_User:
				shape = append(shape, "user "+e.User)
			case *sessionv1.TranscriptEntry_Assistant:
				shape = append(shape, "assistant "+e.Assistant[:7])
			case *sessionv1.TranscriptEntry_Tool:
				shape = append(shape, e.Tool.GetName()+" "+e.Tool.GetState())
			case *sessionv1.TranscriptEntry_Reasoning:
				shape = append(shape, "reasoning "+e.Reasoning)
			}
		}
		want := []string{
			[]string{"user go", "user again"}[i], "assistant One ste", "list completed", "reasoning Thinking about it.", "assistant Another",
			"list completed", "list failed", "assistant And the",
		}
		if !slices.Equal(shape, want) {
			t.Errorf("turn %d is %q, want %q", i, shape, want)
		}
		if turn.GetUsage().GetInputTokens() == 0 || turn.GetEndedAt() == nil || turn.GetStartedAt() == nil {
			t.Errorf("turn %d ended as %v", i, turn)
		}
	}
	if last := events[len(events)-1].GetSeq(); res.Msg.GetLastSeq() <= last {
		t.Errorf("the transcript reaches to %d", res.Msg.GetLastSeq())
	}
}
