package cli

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1/artifactv1connect"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/cli/chat"
)

func TestChatNeedsATerminal(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"chat", "reviewer"}, {"chat", "--session", "ses_1"}} {
		var out, complaint bytes.Buffer
		if code := Main(Assembly{}, args, strings.NewReader(""), &out, &complaint); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
		for _, word := range []string{"needs a terminal", "cadre run", "cadre send"} {
			if !strings.Contains(complaint.String(), word) {
				t.Errorf("%v: %q does not say %q", args, complaint.String(), word)
			}
		}
		if out.Len() > 0 {
			t.Errorf("%v: %q is written", args, out.String())
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	if terminal(null, null, "xterm") == nil {
		t.Error("the null device is taken for a terminal")
	}
}

func TestWhatChatIsCalledWith(t *testing.T) {
	t.Parallel()
	cases := []struct {
		args []string
		says string
	}{
		{[]string{"chat"}, "needs an agent"},
		{[]string{"chat", "a", "b"}, "one agent"},
		{[]string{"chat", "a", "--session", "ses_1"}, "has its agent already"},
		{[]string{"chat", "--session", "ses_1", "-w", "."}, "has its folder"},
		{[]string{"chat", "--session", "ses_1", "--org", "x"}, "its organization"},
		{[]string{"chat", "a", "--approve", "ask"}, "not built yet"},
		{[]string{"chat", "a", "--approve", "maybe"}, "unknown"},
		{[]string{"chat", "a", "--loud"}, "unknown flag"},
	}
	for _, c := range cases {
		var complaint bytes.Buffer
		if code := Main(Assembly{}, c.args, strings.NewReader(""), &complaint, &complaint); code != exitUsage || !strings.Contains(complaint.String(), c.says) {
			t.Errorf("%v: exit code %d, %q", c.args, code, complaint.String())
		}
	}
}

// talker is a server of sessions that keeps what it was asked.
type talker struct {
	sessionv1connect.UnimplementedSessionServiceHandler
	ran, sent atomic.Value
}

func (h *talker) RunAgent(_ context.Context, r *connect.Request[sessionv1.RunAgentRequest]) (*connect.Response[sessionv1.RunAgentResponse], error) {
	h.ran.Store(r.Msg)
	return connect.NewResponse(&sessionv1.RunAgentResponse{Session: &sessionv1.Session{Metadata: &resourcev1.Metadata{Id: "ses_1"}}}), nil
}

func (h *talker) SendMessage(_ context.Context, r *connect.Request[sessionv1.SendMessageRequest]) (*connect.Response[sessionv1.SendMessageResponse], error) {
	h.sent.Store(r.Msg)
	if r.Msg.GetSessionId() != "ses_1" {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("no such session"))
	}
	return connect.NewResponse(&sessionv1.SendMessageResponse{}), nil
}

func (h *talker) Cancel(context.Context, *connect.Request[sessionv1.CancelRequest]) (*connect.Response[sessionv1.CancelResponse], error) {
	return connect.NewResponse(&sessionv1.CancelResponse{}), nil
}

// ListEvents has three events, two to a page.
func (h *talker) ListEvents(_ context.Context, r *connect.Request[sessionv1.ListEventsRequest]) (*connect.Response[sessionv1.ListEventsResponse], error) {
	switch r.Msg.GetAfter() {
	case "":
		return connect.NewResponse(&sessionv1.ListEventsResponse{Events: []*eventv1.Event{{Seq: 1}, {Seq: 2}}, Next: "2"}), nil
	case "2":
		return connect.NewResponse(&sessionv1.ListEventsResponse{Events: []*eventv1.Event{{Seq: 3}}}), nil
	}
	return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("no such place"))
}

// SubscribeEvents sends one event and breaks off.
func (h *talker) SubscribeEvents(_ context.Context, r *connect.Request[sessionv1.SubscribeEventsRequest], s *connect.ServerStream[sessionv1.Frame]) error {
	after, err := strconv.ParseInt(r.Msg.GetAfter(), 10, 64)
	if err != nil {
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	if err := s.Send(&sessionv1.Frame{Frame: &sessionv1.Frame_Event{Event: &eventv1.Event{Seq: after + 1}}}); err != nil {
		return err
	}
	return connect.NewError(connect.CodeInternal, errors.New("the store is away"))
}

// files keeps uploads.
type files struct {
	artifactv1connect.UnimplementedArtifactServiceHandler
}

func (files) Create(_ context.Context, r *connect.Request[artifactv1.CreateArtifactRequest]) (*connect.Response[artifactv1.Artifact], error) {
	return connect.NewResponse(&artifactv1.Artifact{Metadata: &resourcev1.Metadata{Id: "art_" + r.Msg.GetName()}}), nil
}

func chatting(t *testing.T) (*chatServer, *talker, *httptest.Server) {
	t.Helper()
	h := &talker{}
	mux := http.NewServeMux()
	mux.Handle(sessionv1connect.NewSessionServiceHandler(h))
	mux.Handle(artifactv1connect.NewArtifactServiceHandler(files{}))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return &chatServer{c: &app{server: web.URL, data: t.TempDir()}, org: "o", effort: "high"}, h, web
}

func TestAConversationOverTheWire(t *testing.T) {
	t.Parallel()
	s, h, _ := chatting(t)
	ctx := t.Context()
	id, err := s.Run(ctx, "reviewer", "/work", chat.Message{Text: "hi", Key: "k1"})
	if ran := h.ran.Load().(*sessionv1.RunAgentRequest); err != nil || id != "ses_1" || ran.GetOrg() != "o" ||
		ran.GetWorkspace().GetLocal().GetPath() != "/work" || ran.GetIdempotencyKey() != "k1" || ran.GetEffort() != "high" {
		t.Errorf("%q, %v, %v", id, err, ran)
	}
	if err := s.Send(ctx, "ses_1", chat.Message{Text: "more", Attachments: []string{"art_1"}}); err != nil {
		t.Error(err)
	}
	if sent := h.sent.Load().(*sessionv1.SendMessageRequest); sent.GetMessage() != "more" || len(sent.GetAttachments()) != 1 {
		t.Errorf("sent %v", sent)
	}
	if ended, err := s.Cancel(ctx, "aex_1"); ended || err != nil {
		t.Errorf("%v, %v", ended, err)
	}
	first, more, err := s.Events(ctx, "ses_1", 0)
	if len(first) != 2 || !more || err != nil {
		t.Errorf("%d events, %v, %v", len(first), more, err)
	}
	if rest, more, err := s.Events(ctx, "ses_1", 2); len(rest) != 1 || more || err != nil {
		t.Errorf("%d events, %v, %v", len(rest), more, err)
	}
	if err := s.Check("missing.txt"); err == nil {
		t.Error("a file that does not exist can be attached")
	}
	if id, err := s.Upload(ctx, "chatcmd.go"); id != "art_chatcmd.go" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
}

func TestWhichErrorsAreWorthAnotherTry(t *testing.T) {
	t.Parallel()
	s, _, web := chatting(t)
	ctx := t.Context()
	err := s.Send(ctx, "ses_other", chat.Message{Text: "hi"})
	if err == nil || s.Lost(err) || err.Error() != "no such session" {
		t.Errorf("a refusal: %v", err)
	}
	stream, err := s.Subscribe(ctx, "ses_1", 3)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := stream.Next(); err != nil || f.GetEvent().GetSeq() != 4 {
		t.Fatalf("%v, %v", f, err)
	}
	if _, err := stream.Next(); err == nil || !s.Lost(err) {
		t.Errorf("a stream that broke off: %v", err)
	}
	_ = stream.Close()
	web.Close()
	err = s.Send(ctx, "ses_1", chat.Message{Text: "hi"})
	if err == nil || !s.Lost(err) {
		t.Errorf("no server: %v", err)
	}
	if s.cl != nil {
		t.Error("the client of a broken connection is kept")
	}
}
