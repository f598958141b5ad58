package built

import (
	"context"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1/agentv1connect"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1/agentexecutionv1connect"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
)

// bearer puts the token on every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip sends one request.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// HTTP is a client with the operator's token. It has connections of its own, so
// that it meets every start of the server anew.
func (s *Server) HTTP() *http.Client {
	return &http.Client{Transport: bearer{s.Token, &http.Transport{MaxIdleConnsPerHost: 128}}}
}

// Sessions is a client of the sessions.
func (s *Server) Sessions(opts ...connect.ClientOption) sessionv1connect.SessionServiceClient {
	return sessionv1connect.NewSessionServiceClient(s.HTTP(), s.URL, opts...)
}

// Agents is a client of the agents.
func (s *Server) Agents(opts ...connect.ClientOption) agentv1connect.AgentServiceClient {
	return agentv1connect.NewAgentServiceClient(s.HTTP(), s.URL, opts...)
}

// Executions is a client of the turns.
func (s *Server) Executions() agentexecutionv1connect.AgentExecutionServiceClient {
	return agentexecutionv1connect.NewAgentExecutionServiceClient(s.HTTP(), s.URL)
}

// awaitTime bounds every wait for an event.
const awaitTime = 3 * time.Minute

// Await reads a session's log from its beginning, live, until an event passes,
// and answers all events up to it.
func (s *Server) Await(t testing.TB, session string, pass func(*eventv1.Event) bool) []*eventv1.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), awaitTime)
	defer cancel()
	stream, err := s.Sessions().SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{
		SessionId: session, Filter: &sessionv1.EventFilter{DurableOnly: true},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var seen []*eventv1.Event
	for stream.Receive() {
		e := stream.Msg().GetEvent()
		if e == nil {
			continue
		}
		seen = append(seen, e)
		if pass(e) {
			return seen
		}
	}
	t.Fatalf("the awaited event did not come after %d others: %v", len(seen), stream.Err())
	return nil
}

// AwaitType is Await for the n-th event of a type.
func (s *Server) AwaitType(t testing.TB, session, typ string, n int) []*eventv1.Event {
	t.Helper()
	return s.Await(t, session, func(e *eventv1.Event) bool {
		if e.GetType() == typ {
			n--
		}
		return n == 0
	})
}
