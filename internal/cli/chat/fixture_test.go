package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

// noon is when everything happens.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// log is a conversation with a log that tests write.
type log struct {
	*talk
	next int64
}

func newLog() *log { return &log{talk: newTalk()} }

// event is the log's next event.
func (l *log) event(execution string, payload any) *eventv1.Event {
	l.next++
	return event(l.next, execution, payload)
}

// take folds an event or shows a preview.
func (l *log) take(step any) {
	switch s := step.(type) {
	case *eventv1.Event:
		l.fold(s)
	case *eventv1.EphemeralDelta:
		l.preview(s)
	}
}

// begin is a message and the beginning of its turn.
func (l *log) begin(execution, text string) {
	l.take(l.event(execution, &eventv1.InputQueued{Text: text}))
	l.take(l.event(execution, &eventv1.TurnQueued{}))
	l.take(l.event(execution, &eventv1.TurnStarted{Model: "scripted:/a/b/tour.yaml"}))
}

func event(seq int64, execution string, payload any) *eventv1.Event {
	e := &eventv1.Event{
		SessionId: "ses_1", Seq: seq, ExecutionId: execution, Generation: 1,
		Association: eventv1.Association_current, OccurredAt: timestamppb.New(noon),
	}
	switch p := payload.(type) {
	case *eventv1.SessionCreated:
		e.Payload = &eventv1.Event_SessionCreated{SessionCreated: p}
	case *eventv1.InputQueued:
		e.Payload, e.Generation = &eventv1.Event_InputQueued{InputQueued: p}, 0
	case *eventv1.InputRemoved:
		e.Payload = &eventv1.Event_InputRemoved{InputRemoved: p}
	case *eventv1.TurnQueued:
		e.Payload, e.Generation = &eventv1.Event_TurnQueued{TurnQueued: p}, 0
	case *eventv1.TurnStarted:
		e.Payload = &eventv1.Event_TurnStarted{TurnStarted: p}
	case *eventv1.TurnRecoveryRequested:
		e.Payload = &eventv1.Event_TurnRecoveryRequested{TurnRecoveryRequested: p}
	case *eventv1.TurnWaiting:
		e.Payload = &eventv1.Event_TurnWaiting{TurnWaiting: p}
	case *eventv1.TurnReopened:
		e.Payload = &eventv1.Event_TurnReopened{TurnReopened: p}
	case *eventv1.TurnCompleted:
		e.Payload = &eventv1.Event_TurnCompleted{TurnCompleted: p}
	case *eventv1.TurnFailed:
		e.Payload = &eventv1.Event_TurnFailed{TurnFailed: p}
	case *eventv1.TurnCancelRequested:
		e.Payload = &eventv1.Event_TurnCancelRequested{TurnCancelRequested: p}
	case *eventv1.TurnCancelling:
		e.Payload = &eventv1.Event_TurnCancelling{TurnCancelling: p}
	case *eventv1.TurnCancelled:
		e.Payload = &eventv1.Event_TurnCancelled{TurnCancelled: p}
	case *eventv1.AgentMessageDelta:
		e.Payload = &eventv1.Event_AgentMessageDelta{AgentMessageDelta: p}
	case *eventv1.AgentMessageCompleted:
		e.Payload = &eventv1.Event_AgentMessageCompleted{AgentMessageCompleted: p}
	case *eventv1.AgentToolRequested:
		e.Payload = &eventv1.Event_AgentToolRequested{AgentToolRequested: p}
	case *eventv1.AgentToolStarted:
		e.Payload = &eventv1.Event_AgentToolStarted{AgentToolStarted: p}
	case *eventv1.AgentToolProgress:
		e.Payload = &eventv1.Event_AgentToolProgress{AgentToolProgress: p}
	case *eventv1.AgentToolCompleted:
		e.Payload = &eventv1.Event_AgentToolCompleted{AgentToolCompleted: p}
	case *eventv1.AgentToolFailed:
		e.Payload = &eventv1.Event_AgentToolFailed{AgentToolFailed: p}
	case *eventv1.AgentToolOutcomeUnknown:
		e.Payload = &eventv1.Event_AgentToolOutcomeUnknown{AgentToolOutcomeUnknown: p}
	case *eventv1.AgentModelUsage:
		e.Payload = &eventv1.Event_AgentModelUsage{AgentModelUsage: p}
	case *eventv1.ContextCompacted:
		e.Payload = &eventv1.Event_ContextCompacted{ContextCompacted: p}
	default:
		panic(fmt.Sprintf("no event has a %T", payload))
	}
	return e
}

func delta(call int32, offset int64, text string) *eventv1.AgentMessageDelta {
	return &eventv1.AgentMessageDelta{Call: call, Offset: offset, Text: text}
}

func whole(call int32, text string) *eventv1.AgentMessageCompleted {
	return &eventv1.AgentMessageCompleted{Call: call, Text: text}
}

func preview(execution string, call int32, offset int64, text string) *eventv1.EphemeralDelta {
	return &eventv1.EphemeralDelta{SessionId: "ses_1", ExecutionId: execution, Generation: 1, Call: call, Offset: offset, Text: text}
}

func execError(code, message string, retryable bool) *agentexecutionv1.ExecutionError {
	return &agentexecutionv1.ExecutionError{Code: code, Message: message, Retryable: retryable}
}

func notes(x *turn) string {
	var all []string
	for _, e := range x.entries {
		if e.kind == noteEntry || e.kind == troubleEntry {
			all = append(all, e.text)
		}
	}
	return strings.Join(all, "\n")
}

// options are those of a conversation with a server.
func options(s Server) Options {
	keys := 0
	return Options{
		Server: s, Agent: "reviewer", Plain: true, Now: func() time.Time { return noon.Add(83 * time.Second) },
		NewKey: func() string { keys++; return fmt.Sprintf("key_%d", keys) },
		Cost:   func(u *messagev1.Usage) string { return fmt.Sprintf("$%.2f", float64(u.GetCostNanoUsd())/1e9) },
		Subject: func(arguments string) string {
			_, s, _ := strings.Cut(arguments, `"path":"`)
			s, _, _ = strings.Cut(s, `"`)
			return s
		},
	}
}

var (
	errLost    = errors.New("the connection broke")
	errRefused = errors.New("no such agent")
)

// server is a fake one: it keeps what it was asked, and has the log that tests
// write. What fails is taken from fail, one error per call.
type server struct {
	mu     sync.Mutex
	asked  []string
	fail   map[string][]error // by the method's name
	events []*eventv1.Event
	page   int // 0: all at once

	changed   chan struct{} // closed and made anew with each change
	previews  []*eventv1.EphemeralDelta
	streams   int
	cut       int // streams up to this number break off
	away      bool
	gap       map[int64]bool
	onStream  func() // called for each frame of a stream
	cancelled func(execution string) bool
}

func newServer() *server {
	return &server{fail: map[string][]error{}, changed: make(chan struct{}), gap: map[int64]bool{}}
}

func (s *server) ask(method, format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.TrimSpace(method+" "+fmt.Sprintf(format, args...)))
	s.wake()
	if all := s.fail[method]; len(all) > 0 {
		s.fail[method] = all[1:]
		return all[0]
	}
	return nil
}

func (s *server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// calls is what the server was asked, without what reads the log.
func (s *server) calls() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asked, "\n")
}

// add writes to the log, or shows a preview.
func (s *server) add(execution string, payloads ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range payloads {
		if d, ok := p.(*eventv1.EphemeralDelta); ok {
			s.previews = append(s.previews, d)
			continue
		}
		s.events = append(s.events, event(int64(len(s.events)+1), execution, p))
	}
	s.wake()
}

// followed waits for a stream that stands.
func (s *server) followed(ctx context.Context) { s.onceFollowed(ctx, func() {}) }

// goAway breaks off the stream that there is, as soon as there is one, and answers
// nothing any more until comeBack.
func (s *server) goAway(ctx context.Context) {
	s.onceFollowed(ctx, func() {
		s.cut, s.away = s.streams, true
		s.wake()
	})
}

func (s *server) onceFollowed(ctx context.Context, do func()) {
	for {
		s.mu.Lock()
		changed, ok := s.changed, s.streams > s.cut
		if ok {
			do()
		}
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *server) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = false
}

func (s *server) Run(_ context.Context, agent, folder string, m Message) (string, error) {
	return "ses_1", s.ask("run", "%s %q %q model=%s files=%v %s", agent, folder, m.Text, m.Model, m.Attachments, m.Key)
}

func (s *server) Send(_ context.Context, session string, m Message) error {
	return s.ask("send", "%s %q model=%s files=%v %s", session, m.Text, m.Model, m.Attachments, m.Key)
}

func (s *server) Check(path string) error {
	if strings.Contains(path, "missing") {
		return errors.New(path + ": no such file")
	}
	return nil
}

func (s *server) Upload(_ context.Context, path string) (string, error) {
	return "art_" + path, s.ask("upload", "%s", path)
}

func (s *server) Cancel(_ context.Context, execution string) (bool, error) {
	err := s.ask("cancel", "%s", execution)
	return s.cancelled == nil || s.cancelled(execution), err
}

func (s *server) Recover(_ context.Context, execution string) error {
	return s.ask("recover", "%s", execution)
}

func (s *server) Lost(err error) bool { return errors.Is(err, errLost) || errors.Is(err, io.EOF) }

func (s *server) Events(_ context.Context, _ string, after int64) ([]*eventv1.Event, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.fail["events"]; len(all) > 0 {
		s.fail["events"] = all[1:]
		return nil, false, all[0]
	}
	if s.away {
		return nil, false, errLost
	}
	rest := s.events[after:]
	if s.page == 0 || len(rest) <= s.page {
		return rest, false, nil
	}
	return rest[:s.page], true, nil
}

func (s *server) Subscribe(ctx context.Context, _ string, after int64) (Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams++
	s.wake()
	return &stream{ctx: ctx, s: s, number: s.streams, after: after, preview: len(s.previews)}, nil
}

type stream struct {
	ctx     context.Context
	s       *server
	number  int
	after   int64
	preview int
}

// Next has events before previews, whatever came first.
func (s *stream) Next() (*sessionv1.Frame, error) {
	for {
		s.s.mu.Lock()
		changed := s.s.changed
		f, err := s.frame()
		hook := s.s.onStream
		s.s.mu.Unlock()
		if f != nil || err != nil {
			if hook != nil {
				hook()
			}
			return f, err
		}
		select {
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		case <-changed:
		}
	}
}

func (s *stream) frame() (*sessionv1.Frame, error) {
	for s.s.gap[s.after+1] {
		delete(s.s.gap, s.after+1)
		s.after++
	}
	switch {
	case s.number <= s.s.cut:
		return nil, io.EOF
	case s.after < int64(len(s.s.events)):
		s.after++
		return &sessionv1.Frame{Id: "x", Frame: &sessionv1.Frame_Event{Event: s.s.events[s.after-1]}}, nil
	case s.preview < len(s.s.previews):
		s.preview++
		return &sessionv1.Frame{Frame: &sessionv1.Frame_Ephemeral{Ephemeral: s.s.previews[s.preview-1]}}, nil
	}
	return nil, nil // nothing yet
}

func (s *stream) Close() error { return nil }
