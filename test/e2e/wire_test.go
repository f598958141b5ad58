package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// endpoint is where a session's stream is, on whichever wire. Its methods never
// end a test, so that other goroutines may use them.
type endpoint struct {
	http *http.Client // puts the token on
	url  string
}

// source is an open stream. next answers ok false when it ended.
type source interface {
	next() (f frame, ok bool)
	close()
}

// wires are the two that the promises of streams are checked on.
var wires = []string{"server-sent events", "Connect"}

// follow opens the stream of a session on a wire, after an id.
func (e endpoint) follow(ctx context.Context, wire, session, after string, filter *sessionv1.EventFilter) (source, error) {
	ctx, cancel := context.WithCancel(ctx)
	var s source
	var err error
	if wire == "Connect" {
		s, err = e.connect(ctx, cancel, session, after, filter)
	} else {
		s, err = e.sse(ctx, cancel, session, after, filter)
	}
	if err != nil {
		cancel()
	}
	return s, err
}

func (e endpoint) sse(ctx context.Context, cancel context.CancelFunc, session, after string, filter *sessionv1.EventFilter) (source, error) {
	query := types(filter.GetTypes()...)
	if filter.GetDurableOnly() {
		query += "&durable_only=true"
	}
	if filter.GetTree() {
		query += "&tree=true"
	}
	if filter != nil && filter.MaxDepth != nil {
		query += fmt.Sprint("&max_depth=", filter.GetMaxDepth())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+"/v1/sessions/"+session+"/events/stream?"+query, nil)
	if err != nil {
		return nil, err
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := e.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		data, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return nil, fmt.Errorf("the stream was refused: %d %s (%w)", res.StatusCode, data, err)
	}
	return &stream{body: res.Body, lines: bufio.NewReader(res.Body), stop: cancel}, nil
}

// called is a stream on Connect's wire.
type called struct {
	stream *connect.ServerStreamForClient[sessionv1.Frame]
	stop   context.CancelFunc
	// binary leaves the data as the message's own bytes, for readers that are many.
	binary bool
}

func (e endpoint) connect(ctx context.Context, cancel context.CancelFunc, session, after string, filter *sessionv1.EventFilter) (source, error) {
	plain := connect.WithAcceptCompression("gzip", nil, nil) // many small messages: packing them is most of the work
	st, err := sessionv1connect.NewSessionServiceClient(e.http, e.url, plain).SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{
		SessionId: session, After: after, Filter: filter,
	}))
	if err != nil {
		return nil, err
	}
	return &called{stream: st, stop: cancel}, nil
}

func (c *called) close() {
	c.stop()
	_ = c.stream.Close()
}

// next is the frame as server-sent events have it. Heartbeats are passed over.
func (c *called) next() (frame, bool) {
	for c.stream.Receive() {
		m := c.stream.Msg()
		switch {
		case m.GetEvent() != nil && c.binary:
			data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.GetEvent())
			return frame{id: m.GetId(), event: m.GetEvent().GetType(), data: string(data)}, err == nil
		case m.GetEvent() != nil:
			return frame{id: m.GetId(), event: m.GetEvent().GetType(), data: compact(m.GetEvent())}, true
		case m.GetEphemeral() != nil:
			return frame{event: "ephemeral", data: compact(m.GetEphemeral())}, true
		}
	}
	return frame{}, false
}

// compact is a message's JSON without blanks, which is what a frame carries.
func compact(m proto.Message) string {
	data, err := protojson.Marshal(m)
	var b bytes.Buffer
	if err == nil {
		err = json.Compact(&b, data)
	}
	if err != nil {
		return err.Error()
	}
	return b.String()
}

// take reads the next n frames that have an id.
func take(s source, n int) ([]frame, error) {
	var all []frame
	for len(all) < n {
		f, ok := s.next()
		if !ok {
			return all, fmt.Errorf("the stream ended after %d frames of %d", len(all), n)
		}
		if f.id != "" {
			all = append(all, f)
		}
	}
	return all, nil
}

// order is the number in a frame's id.
func (f frame) order() string {
	number, _, _ := strings.Cut(f.id, ".")
	return number
}

// differ names the first place at which two rows of frames differ; "" when none does.
func differ(got, want []frame) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return fmt.Sprintf("%d frames came, want %d; the first that lacks is %s %s", len(got), len(want), want[i].id, want[i].event)
		case i >= len(want):
			return fmt.Sprintf("%d frames came, want %d; the first too many is %s %s", len(got), len(want), got[i].id, got[i].event)
		case got[i] != want[i]:
			return fmt.Sprintf("frame %d is\n%v\nwant\n%v", i+1, got[i], want[i])
		}
	}
	return ""
}

// silent makes a session without an input.
func silent(t *testing.T, client sessionv1connect.SessionServiceClient, agent string) string {
	t.Helper()
	res, err := client.Create(t.Context(), connect.NewRequest(&sessionv1.CreateSessionRequest{Session: &sessionv1.Session{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Session", Metadata: &resourcev1.Metadata{}, Spec: &sessionv1.SessionSpec{Agent: agent, Workspace: local(t.TempDir())},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.GetMetadata().GetId()
}

// tell gives a session an input.
func tell(t *testing.T, client sessionv1connect.SessionServiceClient, session, message string) {
	t.Helper()
	if _, err := client.SendMessage(t.Context(), connect.NewRequest(&sessionv1.SendMessageRequest{SessionId: session, Message: message})); err != nil {
		t.Fatal(err)
	}
}
