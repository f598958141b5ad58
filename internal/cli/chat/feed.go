package chat

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// retryAfter is how long a connection that broke is left alone.
const retryAfter = 250 * time.Millisecond

// link is how the connection to a session's log stands.
type link int

const (
	loading link = iota // what happened before is being read
	live
	lost  // being made again
	ended // given up: news.err says why
)

// news is what came of a log since it was asked last.
type news struct {
	feed     *feed
	events   []*eventv1.Event
	previews []*eventv1.EphemeralDelta
	// order says of each event and preview, in turn, which one it was.
	order []bool
	link  link
	err   error
	// broken is the panic of the goroutine that reads, with its stack; "" for none.
	broken string
}

// feed follows one session's log: each durable event once and in order, with the
// pieces that are not durable yet between them. A goroutine reads, so that what
// comes fast is handed over together.
type feed struct {
	server  Server
	session string
	cancel  context.CancelFunc
	done    chan struct{} // closed when the goroutine has ended
	filled  chan struct{} // holds one token while there is something to take

	mu   sync.Mutex
	next news
	seq  int64 // the newest event that was handed over; the goroutine's own
}

// follow begins to read a session's log from its beginning.
func follow(ctx context.Context, server Server, session string) *feed {
	ctx, cancel := context.WithCancel(ctx)
	f := &feed{server: server, session: session, cancel: cancel, done: make(chan struct{}), filled: make(chan struct{}, 1)}
	go f.run(ctx)
	return f
}

// stop ends the feed and waits until its goroutine has ended.
func (f *feed) stop() {
	f.cancel()
	<-f.done
}

// take waits for news; nil when there will be none any more.
func (f *feed) take() tea.Msg {
	select {
	case <-f.filled:
	case <-f.done:
		select {
		case <-f.filled: // the last words
		default:
			return nil
		}
	}
	f.mu.Lock()
	n := f.next
	f.next = news{link: n.link}
	f.mu.Unlock()
	n.feed = f
	return n
}

// put adds to what is taken next.
func (f *feed) put(change func(*news)) {
	f.mu.Lock()
	change(&f.next)
	f.mu.Unlock()
	select {
	case f.filled <- struct{}{}:
	default:
	}
}

func (f *feed) run(ctx context.Context) {
	defer close(f.done)
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			f.put(func(n *news) { n.broken = fmt.Sprintf("%v\n%s", p, stack) })
		}
	}()
	for {
		err := f.catchUp(ctx)
		if err == nil {
			err = f.stream(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !f.server.Lost(err) && !errors.Is(err, errGap):
			f.put(func(n *news) { n.link, n.err = ended, err })
			return
		}
		f.put(func(n *news) { n.link, n.err = lost, err })
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryAfter):
		}
	}
}

// catchUp reads what the log has, page by page.
func (f *feed) catchUp(ctx context.Context) error {
	for {
		events, more, err := f.server.Events(ctx, f.session, f.seq)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := f.event(e); err != nil {
				return err
			}
		}
		if !more || len(events) == 0 {
			f.put(func(n *news) { n.link = live })
			return nil
		}
	}
}

// stream hands on what comes after that, until the stream breaks off.
func (f *feed) stream(ctx context.Context) error {
	s, err := f.server.Subscribe(ctx, f.session, f.seq)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for {
		frame, err := s.Next()
		if err != nil {
			return err
		}
		if e := frame.GetEvent(); e != nil {
			if err := f.event(e); err != nil {
				return err
			}
		}
		if d := frame.GetEphemeral(); d != nil {
			f.put(func(n *news) {
				n.previews, n.order = append(n.previews, d), append(n.order, false)
			})
		}
	}
}

// errGap is about a log that leaves events out: it is asked again.
var errGap = errors.New("events are missing")

// event hands the log's next event over. One that was handed over is left out.
func (f *feed) event(e *eventv1.Event) error {
	switch {
	case e.GetSeq() <= f.seq:
		return nil
	case e.GetSeq() != f.seq+1:
		return fmt.Errorf("%w: %d came after %d", errGap, e.GetSeq(), f.seq)
	}
	f.seq = e.GetSeq()
	f.put(func(n *news) {
		n.events, n.order = append(n.events, e), append(n.order, true)
	})
	return nil
}

// each calls for the events and previews in the order in which they came.
func (n *news) each(event func(*eventv1.Event), preview func(*eventv1.EphemeralDelta)) {
	e, p := 0, 0
	for _, durable := range n.order {
		if durable {
			event(n.events[e])
			e++
		} else {
			preview(n.previews[p])
			p++
		}
	}
}
