package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"connectrpc.com/connect"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// watch says what to follow.
type watch struct {
	session   string
	execution string // the turn whose end ends the watch; "" for none
	after     int64
	json      bool
	all       bool // show other turns too
	leave     bool // Ctrl-C leaves and does not cancel
}

var errLeft = errors.New("left")

// reconnectFor is how long a watch waits for a server that went away.
const reconnectFor = 2 * time.Minute

// watch shows a session's frames until the turn ends and answers its exit code.
// A connection that breaks is made again, after the last event that was seen.
func (c *app) watch(ctx context.Context, cl *client, w watch) error {
	ctx, stop := interrupts(ctx, func() { c.interrupted(cl, w) })
	defer stop()
	p := newPrinter(c, w)
	cursor := ""
	if w.after > 0 {
		cursor = strconv.FormatInt(w.after, 10)
	}
	lost := time.Time{}
	for {
		end, err := c.follow(ctx, cl, w, &cursor, p, func() { lost = time.Time{} })
		if end != nil {
			p.finish()
			return exitFor(end)
		}
		if errors.Is(context.Cause(ctx), errLeft) {
			p.finish()
			return exitError{exitCancelled, nil}
		}
		if !worthRetry(err) {
			return err
		}
		if lost.IsZero() {
			lost = time.Now()
			p.say("the connection to the server is lost; waiting for it")
		}
		if time.Since(lost) > reconnectFor {
			return fmt.Errorf("the server did not come back within %s; the turn goes on when it does: `cadre attach %s`", reconnectFor, w.session)
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
		if again, err := c.connect(); err == nil {
			cl = again // the server may listen elsewhere now
		}
	}
}

func worthRetry(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeUnknown, connect.CodeCanceled, connect.CodeInternal, connect.CodeDeadlineExceeded:
		return true
	}
	return err == nil
}

// follow reads one stream; the answer is the event that ended the watched turn.
func (c *app) follow(ctx context.Context, cl *client, w watch, cursor *string, p *printer, alive func()) (*eventv1.Event, error) {
	stream, err := cl.sessions.SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: w.session, After: *cursor}))
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		alive()
		f := stream.Msg()
		if e := f.GetEvent(); e != nil {
			*cursor = f.GetId()
			p.event(e)
			if ends(e, w.execution) {
				return e, nil
			}
		}
		if d := f.GetEphemeral(); d != nil {
			p.ephemeral(d)
		}
	}
	return nil, stream.Err()
}

// ends says whether an event ends the execution, or leaves it waiting.
func ends(e *eventv1.Event, execution string) bool {
	if execution == "" || e.GetExecutionId() != execution || e.GetAssociation() != eventv1.Association_current {
		return false
	}
	switch e.GetType() {
	case "turn.completed", "turn.failed", "turn.cancelled", "turn.waiting":
		return true
	}
	return false
}

func exitFor(e *eventv1.Event) error {
	switch e.GetType() {
	case "turn.failed":
		return exitError{exitFailed, nil}
	case "turn.cancelled":
		return exitError{exitCancelled, nil}
	case "turn.waiting":
		return exitError{exitWaiting, nil}
	}
	if e.GetTurnCompleted().GetSegmentLimit() != "" {
		return exitError{exitCutShort, nil}
	}
	return nil
}

// interrupted is the first Ctrl-C.
func (c *app) interrupted(cl *client, w watch) {
	if w.leave || w.execution == "" {
		c.note("the turn goes on; Ctrl-C again leaves, `cadre cancel %s` ends it", w.session)
		return
	}
	c.note("\ncancelling; Ctrl-C again leaves without waiting")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := cl.sessions.Cancel(ctx, connect.NewRequest(&sessionv1.CancelRequest{Id: w.execution, Reason: "interrupted"})); err != nil {
		c.complain(err)
	}
}

func (cl *client) lastSeq(ctx context.Context, session string) (int64, error) {
	s, err := cl.session(ctx, session)
	return s.GetStatus().GetLastSeq(), err
}

func (cl *client) session(ctx context.Context, id string) (*sessionv1.Session, error) {
	res, err := cl.sessions.Get(ctx, connect.NewRequest(&resourcev1.GetRequest{Ref: id}))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

// lastExecution is the newest turn of a session, "" when it has none.
func (cl *client) lastExecution(ctx context.Context, session string) (string, error) {
	res, err := cl.sessions.GetTranscript(ctx, connect.NewRequest(&sessionv1.GetTranscriptRequest{SessionId: session}))
	if err != nil {
		return "", err
	}
	turns := res.Msg.GetTurns()
	if len(turns) == 0 {
		return "", nil
	}
	return turns[len(turns)-1].GetExecutionId(), nil
}
