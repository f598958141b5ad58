package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"connectrpc.com/connect"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

// watch says what to follow.
type watch struct {
	session   string
	execution string // the turn whose end ends the watch; "" for all of the session's work
	after     int64
	head      int64 // where the log ended when the watch began; earlier events end nothing
	json      bool
	only      bool // standard output gets the final answer alone
	quiet     bool // a turn that waits to be tried again is not told of
}

// all says whether the whole session is watched.
func (w watch) all() bool { return w.execution == "" }

var errLeft = errors.New("left")

// reconnectFor is how long a watch waits for a server that went away.
const reconnectFor = 2 * time.Minute

// watch shows a session's frames until the work that it watches ends and answers
// its exit code. A connection that breaks is made again, after the last event
// that was seen.
func (c *app) watch(ctx context.Context, cl *client, w watch) error {
	p := newPrinter(c, w)
	defer p.finish()
	ctx, stop := interrupts(ctx, func() bool { return c.interrupted(p, w) })
	defer stop()
	f := &following{watch: w, printer: p, tracker: newTracker(w)}
	defer f.heed(ctx, cl)()
	if w.after > 0 {
		f.cursor = strconv.FormatInt(w.after, 10)
	}
	for {
		end, err := f.stream(ctx, cl)
		switch {
		case end != nil:
			return exitFor(end)
		case errors.Is(context.Cause(ctx), errLeft):
			return exitError{exitCancelled, nil}
		case !worthRetry(err):
			return err
		}
		if f.lost.IsZero() {
			f.lost = time.Now()
			p.say("the connection to the server is lost; waiting for it")
		}
		if time.Since(f.lost) > reconnectFor {
			return fmt.Errorf("the server did not come back within %s; the work goes on when it does: `cadre attach %s`", reconnectFor, w.session)
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

// following is a watch on its way.
type following struct {
	watch
	printer *printer
	tracker *tracker
	cursor  string
	lost    time.Time // when the connection broke; zero while it stands
}

// stream reads one stream; the answer is the event that ended what is watched.
func (f *following) stream(ctx context.Context, cl *client) (*eventv1.Event, error) {
	stream, err := cl.sessions.SubscribeEvents(ctx, connect.NewRequest(&sessionv1.SubscribeEventsRequest{SessionId: f.session, After: f.cursor}))
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		f.lost = time.Time{}
		frame := stream.Msg()
		if e := frame.GetEvent(); e != nil {
			f.cursor = frame.GetId()
			f.printer.event(e)
			if end := f.tracker.see(e); end != nil {
				return end, nil
			}
		}
		if d := frame.GetEphemeral(); d != nil {
			f.printer.ephemeral(d)
		}
	}
	return nil, stream.Err()
}

// exitFor is the exit code of the event that ended a turn.
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

// interrupts counts Ctrl-C: the first calls once, which says whether to stay; the
// second, or a first that does not stay, ends the context.
func interrupts(ctx context.Context, once func() bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	first := func() {
		if !once() {
			cancel(errLeft)
		}
	}
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
				if n > 0 {
					cancel(errLeft)
					return
				}
				go first()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// interrupted is the first Ctrl-C: it cancels the turn that the command began,
// and leaves work alone that it only looks at.
func (c *app) interrupted(p *printer, w watch) (stay bool) {
	if w.all() {
		p.aside("the session goes on; `cadre cancel %s` ends its work", w.session)
		return false
	}
	p.aside("cancelling; Ctrl-C again leaves without waiting")
	key := keyOr("")
	for end := time.Now().Add(reconnectFor); ; {
		err := c.cancelTurn(w.execution, key)
		if err == nil {
			return true
		}
		if !isUnreachable(err) && connect.CodeOf(err) != connect.CodeUnavailable || time.Now().After(end) {
			c.complain(err)
			return true
		}
		<-time.After(200 * time.Millisecond) // the server is away: the wish is told again until it hears it
	}
}

// cancelTurn asks the server, wherever it listens now, to end a turn.
func (c *app) cancelTurn(execution, key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cl, err := c.connect()
	if err != nil {
		return err
	}
	_, err = cl.sessions.Cancel(ctx, connect.NewRequest(&sessionv1.CancelRequest{Id: execution, Reason: "interrupted", IdempotencyKey: key}))
	return err
}
