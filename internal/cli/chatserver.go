package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/cli/chat"
)

// chatWait bounds one call of a conversation; it is made again after that.
const chatWait = 30 * time.Second

// chatPage is how many events are read at once.
const chatPage = 1000

// chatServer is the server of a conversation, wherever it listens now.
type chatServer struct {
	c       *app
	org     string
	effort  string
	approve agentexecutionv1.ApprovalMode

	mu sync.Mutex
	cl *client // nil after the connection broke
}

// client finds the server again after the connection to it broke.
func (s *chatServer) client() (*client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cl != nil {
		return s.cl, nil
	}
	cl, err := s.c.connect()
	if err != nil {
		return nil, chatLost{err}
	}
	s.cl = cl
	return cl, nil
}

// with makes one call, and says its error in the command line's words.
func (s *chatServer) with(ctx context.Context, call func(context.Context, *client) error) error {
	ctx, cancel := context.WithTimeout(ctx, chatWait)
	defer cancel()
	cl, err := s.client()
	if err == nil {
		err = s.told(cl, call(ctx, cl))
	}
	return err
}

// told is an error as people read it. The client of a broken connection is given up.
func (s *chatServer) told(cl *client, err error) error {
	if err == nil {
		return nil
	}
	var words strings.Builder
	(&app{err: &words}).complain(err)
	told := chatTold{strings.TrimSpace(strings.TrimPrefix(words.String(), "error: ")), err}
	if !broken(err) {
		return told
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cl == cl {
		s.cl = nil
		cl.http.CloseIdleConnections()
	}
	return chatLost{told}
}

// broken says whether an error is about the way to the server and not its answer.
func broken(err error) bool {
	switch code := connect.CodeOf(err); code {
	case connect.CodeUnavailable, connect.CodeCanceled, connect.CodeDeadlineExceeded:
		return true
	case connect.CodeUnknown, connect.CodeInternal:
		return !connect.IsWireError(err) && !isUsage(err)
	}
	return isUnreachable(err)
}

func isUsage(err error) bool {
	var code exitError
	return errors.As(err, &code)
}

// chatTold is an error with the words that a person is told.
type chatTold struct {
	text string
	err  error
}

func (e chatTold) Error() string { return e.text }

func (e chatTold) Unwrap() error { return e.err }

// chatLost is an error of the connection.
type chatLost struct{ error }

func (e chatLost) Unwrap() error { return e.error }

// Lost says whether asking again may help.
func (s *chatServer) Lost(err error) bool {
	var lost chatLost
	return errors.As(err, &lost) || errors.Is(err, io.EOF)
}

// Run makes a session and gives it its first message.
func (s *chatServer) Run(ctx context.Context, agent, folder string, m chat.Message) (session string, err error) {
	req := &sessionv1.RunAgentRequest{
		Agent: agent, Org: s.org, Message: m.Text, Model: absoluteModel(m.Model, "."), Effort: s.effort, Approve: s.approve,
		Attachments: m.Attachments, IdempotencyKey: m.Key,
	}
	if folder != "" {
		req.Workspace = &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: folder}}}
	}
	err = s.with(ctx, func(ctx context.Context, cl *client) error {
		res, err := cl.sessions.RunAgent(ctx, connect.NewRequest(req))
		if err == nil {
			session = res.Msg.GetSession().GetMetadata().GetId()
		}
		return err
	})
	return session, err
}

// Send gives a session another message.
func (s *chatServer) Send(ctx context.Context, session string, m chat.Message) error {
	return s.with(ctx, func(ctx context.Context, cl *client) error {
		_, err := cl.sessions.SendMessage(ctx, connect.NewRequest(&sessionv1.SendMessageRequest{
			SessionId: session, Message: m.Text, Model: absoluteModel(m.Model, "."), Effort: s.effort, Approve: s.approve,
			Attachments: m.Attachments, IdempotencyKey: m.Key,
		}))
		return err
	})
}

// home puts the person's own folder in the place of a leading ~.
func home(path string) string {
	rest, ok := strings.CutPrefix(path, "~"+string(filepath.Separator))
	if dir, err := os.UserHomeDir(); ok && err == nil {
		return filepath.Join(dir, rest)
	}
	return path
}

// Check says what is wrong with a file that is to be attached.
func (s *chatServer) Check(path string) error {
	_, err := (&extraFlags{attach: []string{home(path)}}).check()
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "--attach "))
	}
	return nil
}

// Upload keeps a file on the server.
func (s *chatServer) Upload(ctx context.Context, path string) (id string, err error) {
	err = s.with(ctx, func(ctx context.Context, cl *client) error {
		var e extras
		if err := (&extraFlags{attach: []string{home(path)}}).upload(ctx, cl, s.org, &e); err != nil {
			return err
		}
		id = e.attachments[0]
		return nil
	})
	return id, err
}

// Cancel ends one turn.
func (s *chatServer) Cancel(ctx context.Context, execution string) (ended bool, err error) {
	err = s.with(ctx, func(ctx context.Context, cl *client) error {
		res, err := cl.sessions.Cancel(ctx, connect.NewRequest(&sessionv1.CancelRequest{Id: execution, Reason: "interrupted", IdempotencyKey: keyOr("")}))
		if err == nil {
			ended = len(res.Msg.GetExecutions()) > 0
		}
		return err
	})
	return ended, err
}

// Recover lets a turn go on.
func (s *chatServer) Recover(ctx context.Context, execution string) error {
	return s.with(ctx, func(ctx context.Context, cl *client) error {
		_, err := cl.sessions.Recover(ctx, connect.NewRequest(&sessionv1.RecoverRequest{Id: execution, IdempotencyKey: keyOr("")}))
		return err
	})
}

// Events reads a page of the log.
func (s *chatServer) Events(ctx context.Context, session string, after int64) (events []*eventv1.Event, more bool, err error) {
	err = s.with(ctx, func(ctx context.Context, cl *client) error {
		res, err := cl.sessions.ListEvents(ctx, connect.NewRequest(&sessionv1.ListEventsRequest{SessionId: session, After: cursor(after), Limit: chatPage}))
		if err == nil {
			events, more = res.Msg.GetEvents(), res.Msg.GetNext() != ""
		}
		return err
	})
	return events, more, err
}

// cursor is the place behind an event; the beginning is "".
func cursor(after int64) string {
	if after == 0 {
		return ""
	}
	return strconv.FormatInt(after, 10)
}

// Subscribe follows the log.
func (s *chatServer) Subscribe(ctx context.Context, session string, after int64) (chat.Stream, error) {
	cl, err := s.client()
	if err != nil {
		return nil, err
	}
	stream, err := cl.sessions.SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: session, After: cursor(after)}))
	if err != nil {
		return nil, s.told(cl, err)
	}
	return &chatStream{s, cl, stream}, nil
}

// chatStream is a log that is followed.
type chatStream struct {
	server *chatServer
	client *client
	stream *connect.ServerStreamForClient[sessionv1.Frame]
}

// Next waits for a frame.
func (s *chatStream) Next() (*sessionv1.Frame, error) {
	if s.stream.Receive() {
		return s.stream.Msg(), nil
	}
	err := s.server.told(s.client, s.stream.Err())
	switch {
	case err == nil:
		return nil, io.EOF
	case worthRetry(s.stream.Err()) && !s.server.Lost(err):
		return nil, fmt.Errorf("%w: %w", io.EOF, err)
	}
	return nil, err
}

// Close ends the stream.
func (s *chatStream) Close() error { return s.stream.Close() }
