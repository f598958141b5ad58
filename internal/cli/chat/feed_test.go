package chat

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reader takes a feed's news until something is true.
type reader struct {
	t    *testing.T
	feed *feed
	talk *talk
	link link
	seen []int64
	err  error
}

func read(t *testing.T, s *server) *reader {
	t.Helper()
	f := follow(context.Background(), s, "ses_1")
	t.Cleanup(f.stop)
	return &reader{t: t, feed: f, talk: newTalk()}
}

// until takes news until done says so. It ends with the test's own time limit.
func (r *reader) until(done func() bool) {
	r.t.Helper()
	for !done() {
		n, ok := r.feed.take().(news)
		if !ok {
			r.t.Fatalf("the feed ended; seen %v", r.seen)
		}
		n.each(func(e *eventv1.Event) {
			r.seen = append(r.seen, e.GetSeq())
			r.talk.fold(e)
		}, r.talk.preview)
		r.link, r.err = n.link, n.err
	}
}

func (r *reader) contiguous() {
	r.t.Helper()
	for i, seq := range r.seen {
		if seq != int64(i+1) {
			r.t.Fatalf("event %d came at place %d", seq, i+1)
		}
	}
}

func words(n int) []any {
	var all []any
	for range n {
		all = append(all, &eventv1.AgentToolProgress{CallId: "c", Text: "."})
	}
	return all
}

func TestALongLogIsReadInPagesAndThenFollowed(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.page = 1000
	s.add("aex_1", words(10_000)...)
	r := read(t, s)
	r.until(func() bool { return r.link == live && len(r.seen) == 10_000 })
	s.add("aex_1", words(3)...)
	r.until(func() bool { return len(r.seen) == 10_003 })
	r.contiguous()
}

func TestAStreamThatBreaksOffIsMadeAgainAndNothingIsLostOrTwice(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.away = true
	s.add("aex_1", words(3)...)
	r := read(t, s)
	r.until(func() bool { return r.link == lost })
	s.comeBack()
	r.until(func() bool { return r.link == live && len(r.seen) == 3 })
	for range 3 {
		s.goAway(t.Context())
		s.add("aex_1", words(2)...)
		r.until(func() bool { return r.link == lost })
		s.comeBack()
		r.until(func() bool { return r.link == live })
	}
	r.until(func() bool { return len(r.seen) == 9 })
	r.contiguous()
}

func TestAGapIsFilledFromTheLog(t *testing.T) {
	t.Parallel()
	s := newServer()
	r := read(t, s)
	r.until(func() bool { return r.link == live })
	s.mu.Lock()
	s.gap[2] = true
	s.mu.Unlock()
	s.add("aex_1", words(4)...)
	r.until(func() bool { return len(r.seen) == 4 })
	r.contiguous()
	if s.gap[2] {
		t.Error("nothing was left out; the test sees nothing")
	}
}

func TestARefusalEndsTheFeed(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.fail["events"] = []error{errRefused}
	r := read(t, s)
	r.until(func() bool { return r.link == ended })
	if !errors.Is(r.err, errRefused) {
		t.Errorf("got %v", r.err)
	}
	if n := r.feed.take(); n != nil {
		t.Errorf("news after the end: %v", n)
	}
}

func TestAPanicOfTheFeedIsHandedOver(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.onStream = func() { panic("planted") }
	r := read(t, s)
	s.followed(t.Context())
	s.add("aex_1", words(1)...)
	for {
		n, ok := r.feed.take().(news)
		if !ok {
			t.Fatal("the feed ended without a word")
		}
		if n.broken != "" {
			if !strings.HasPrefix(n.broken, "planted\n") || !strings.Contains(n.broken, "feed_test.go") {
				t.Errorf("got %q", n.broken)
			}
			return
		}
	}
}

func TestPreviewsComeBetweenEvents(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.add("aex_1", &eventv1.InputQueued{Text: "hi"}, &eventv1.TurnStarted{})
	r := read(t, s)
	r.until(func() bool { return r.link == live })
	s.followed(t.Context())
	s.add("aex_1", preview("aex_1", 1, 0, "text"))
	r.until(func() bool {
		x := r.talk.turns["aex_1"]
		return x != nil && strings.Contains(answersOf(x), "text")
	})
}
