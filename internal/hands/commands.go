package hands

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	handsv1 "github.com/cadre-dev/cadre/gen/go/cadre/runtime/hands/v1"
	"github.com/cadre-dev/cadre/internal/wire"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// mostEnded bounds how many ended processes can still be asked for.
const mostEnded = 256

// started is a process that was started, or what became of the start. ready is closed
// when that is known.
type started struct {
	command workspace.Command
	ready   chan struct{}
	process workspace.Process
	err     error
}

func key(session, id string) string { return session + "\x00" + id }

// Start runs a command once. Whether its caller still waits makes no difference: it is
// started or refused, and the next who asks is told.
func (h *Hands) Start(ctx context.Context, r *connect.Request[handsv1.StartRequest]) (*connect.Response[handsv1.StartResponse], error) {
	if want := r.Msg.GetBoot(); want != "" && want != h.boot {
		return nil, wire.Error(wire.ErrOtherBoot)
	}
	c := wire.ReadCommand(r.Msg.GetCommand())
	h.mu.Lock()
	s, known := h.started[key(c.Session, c.ID)]
	if !known {
		s = &started{command: c, ready: make(chan struct{})}
		h.started[key(c.Session, c.ID)] = s
	}
	h.mu.Unlock()
	if !known {
		s.process, s.err = h.ws.Start(context.WithoutCancel(ctx), c)
		close(s.ready)
		h.watchEnd(s)
	}
	<-s.ready
	if s.err != nil {
		return nil, wire.Error(s.err)
	}
	return answer(&handsv1.StartResponse{Started: timestamppb.New(s.process.Started()), Boot: h.boot}, nil)
}

// watchEnd forgets a start that was refused, so that it can be asked for anew, and keeps
// ended processes for a while.
func (h *Hands) watchEnd(s *started) {
	name := key(s.command.Session, s.command.ID)
	if s.err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.started, name)
		return
	}
	go func() {
		<-s.process.Done()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended = append(h.ended, name)
		for len(h.ended) > mostEnded {
			delete(h.started, h.ended[0])
			h.ended = h.ended[1:]
		}
	}()
}

// find is a process that was started here.
func (h *Hands) find(ctx context.Context, session, id string) (workspace.Process, error) {
	h.mu.Lock()
	s := h.started[key(session, id)]
	h.mu.Unlock()
	if s == nil {
		return h.ws.Process(session, id) // whose error names those that are there
	}
	select {
	case <-s.ready:
		return s.process, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Find looks for a process of the background.
func (h *Hands) Find(_ context.Context, r *connect.Request[handsv1.FindRequest]) (*connect.Response[handsv1.FindResponse], error) {
	p, err := h.ws.Process(r.Msg.GetSession(), r.Msg.GetId())
	if err != nil {
		return nil, wire.Error(err)
	}
	return answer(&handsv1.FindResponse{Command: wire.Command(p.Command()), Started: timestamppb.New(p.Started())}, nil)
}

// chunk bounds the text of one message.
const chunk = 64 << 10

// Watch sends what a process prints until it has ended.
func (h *Hands) Watch(ctx context.Context, r *connect.Request[handsv1.WatchRequest], s *connect.ServerStream[handsv1.WatchResponse]) error {
	p, err := h.find(ctx, r.Msg.GetSession(), r.Msg.GetId())
	if err != nil {
		return wire.Error(err)
	}
	from := r.Msg.GetFrom()
	for {
		ended := false
		select {
		case <-p.Done():
			ended = true // and what is read below is all
		default:
		}
		if from, err = h.send(p, from, s); err != nil {
			return err
		}
		if ended {
			e := p.Exit()
			return s.Send(&handsv1.WatchResponse{Exit: &handsv1.Exit{Code: int32(e.Code), Signal: e.Signal, Ended: e.Ended}}) //nolint:gosec // an exit code
		}
		select {
		case <-more(p, from):
		case <-p.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// send sends what was printed from an offset on and answers the next one.
func (h *Hands) send(p workspace.Process, from int64, s *connect.ServerStream[handsv1.WatchResponse]) (int64, error) {
	out := p.Output(from)
	parts := []*handsv1.WatchResponse{}
	add := func(text []byte, lost int64) {
		for first := true; first && lost > 0 || len(text) > 0; first = false {
			n := min(len(text), chunk)
			parts = append(parts, &handsv1.WatchResponse{Text: text[:n], Lost: lost})
			text, lost = text[n:], 0
		}
	}
	add(out.Text[:out.Gap], 0)
	add(out.Text[out.Gap:], out.Lost)
	for _, m := range parts {
		if err := s.Send(m); err != nil {
			return from, err
		}
	}
	return out.Next, nil
}

// more is closed when a process has printed more.
func more(p workspace.Process, from int64) <-chan struct{} {
	return p.(interface{ More(int64) <-chan struct{} }).More(from)
}

// End ends processes and answers when they are proven gone.
func (h *Hands) End(ctx context.Context, r *connect.Request[handsv1.EndRequest]) (*connect.Response[handsv1.EndResponse], error) {
	m := r.Msg
	err := h.end(ctx, m.GetSession(), m.GetId(), m.GetExecution(), m.GetGrace().AsDuration(), m.GetForget())
	return answer(&handsv1.EndResponse{}, err)
}

func (h *Hands) end(ctx context.Context, session, id, execution string, grace time.Duration, forget bool) error {
	switch {
	case id != "":
		p, err := h.find(ctx, session, id)
		if err != nil {
			return err
		}
		return p.End(ctx, grace)
	case forget:
		return h.host.Forget(ctx, session)
	}
	return h.host.End(ctx, session, execution)
}
