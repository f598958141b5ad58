// Package stream carries a session's frames as server-sent events. It adds a
// wire to the verb SubscribeEvents and nothing else: identity, cursor, filter
// and order are the verb's.
//
// Delivery: a frame with an id was durable before it was sent; a client that
// reconnects with Last-Event-ID misses none and gets none twice. One frame is on
// its way at a time; a client that reads nothing for 30 s is dropped.
package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1/sessionv1connect"
	"github.com/cadre-dev/cadre/internal/fault"
)

// writeStall is how long one frame may take to be written.
const writeStall = 30 * time.Second

// Dispatch answers a streaming procedure.
type Dispatch func(ctx context.Context, procedure string, req proto.Message, send func(proto.Message) error, header http.Header) error

// Handler serves GET /v1/sessions/{session}/events/stream. fail writes an error
// that comes before the first frame; encode gives one that comes later its form,
// on one line.
func Handler(dispatch Dispatch, fail func(http.ResponseWriter, *http.Request, error), encode func(error) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := request(r)
		if err != nil {
			fail(w, r, err)
			return
		}
		out := &writer{w: w, ctl: http.NewResponseController(w)}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		err = dispatch(ctx, sessionv1connect.SessionServiceSubscribeEventsProcedure, req, out.send, r.Header)
		switch {
		case err == nil:
		case !out.begun:
			fail(w, r, err)
		default:
			_ = out.raw("event: error\ndata: " + string(encode(err)) + "\n\n")
		}
	})
}

// request reads path, query and Last-Event-ID into the verb's message.
func request(r *http.Request) (*sessionv1.SubscribeEventsRequest, error) {
	q := r.URL.Query()
	req := &sessionv1.SubscribeEventsRequest{SessionId: r.PathValue("session"), After: q.Get("after"), Filter: &sessionv1.EventFilter{}}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		req.After = last
	}
	for name := range q {
		if err := parameter(req.Filter, name, q); err != nil {
			return nil, err
		}
	}
	return req, nil
}

func parameter(f *sessionv1.EventFilter, name string, q url.Values) (err error) {
	value := q.Get(name)
	switch name {
	case "after":
	case "types", "filter.types":
		for _, v := range q[name] {
			f.Types = append(f.Types, strings.FieldsFunc(v, func(r rune) bool { return r == ',' })...)
		}
	case "durable_only", "durableOnly", "filter.durableOnly", "filter.durable_only":
		f.DurableOnly, err = strconv.ParseBool(value)
	case "tree", "filter.tree":
		f.Tree, err = strconv.ParseBool(value)
	case "max_depth", "maxDepth", "filter.maxDepth", "filter.max_depth":
		var n int64
		n, err = strconv.ParseInt(value, 10, 32)
		f.MaxDepth = proto.Int32(int32(n))
	default:
		return fault.New(fault.InvalidArgument, "UNKNOWN_FIELD", "unknown parameter %q; the parameters are after, types, durable_only, tree and max_depth", name)
	}
	if err != nil {
		return fault.New(fault.InvalidArgument, "BAD_PARAMETER", "%s=%s: %s is expected", name, value, map[bool]string{true: "a number", false: "true or false"}[strings.Contains(name, "epth")])
	}
	return nil
}

// writer writes frames in the form of server-sent events.
type writer struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	begun bool
}

func (s *writer) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
}

func (s *writer) send(m proto.Message) error {
	f, ok := m.(*sessionv1.Frame)
	if !ok {
		return fmt.Errorf("%T is no frame", m)
	}
	s.begin()
	switch {
	case f.GetEvent() != nil:
		return s.write(f.GetId(), f.GetEvent().GetType(), f.GetEvent())
	case f.GetEphemeral() != nil:
		return s.write("", "ephemeral", f.GetEphemeral())
	}
	return s.raw(": keep-alive\n\n")
}

func (s *writer) write(id, event string, m proto.Message) error {
	data, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + event + "\ndata: ")
	// Each build of protojson puts other blanks between fields; a frame is the same
	// bytes whoever wrote it.
	if err := json.Compact(&b, data); err != nil {
		return err
	}
	b.WriteString("\n\n")
	return s.raw(b.String())
}

func (s *writer) raw(text string) error {
	// Not every transport has deadlines; those that have none need none.
	if err := s.ctl.SetWriteDeadline(time.Now().Add(writeStall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.ctl.Flush()
}
