package enginetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

func testWakePeeksAndRuns(t *testing.T, f *fixture) {
	l := newLedger()
	e := f.start(t, l)
	wake(t, e, l, "a")
	s := l.await(t, "a", "a run between two peeks", func(s state) bool { return s.RunsDone == 1 && s.PeeksDone >= 2 })
	if s.Runs != 1 || s.MostAtOnce != 1 {
		t.Errorf("one wake made %d runs, %d at once; want 1 and 1", s.Runs, s.MostAtOnce)
	}
}

func testWakesNeverOverlapRuns(t *testing.T, f *fixture) {
	l := newLedger()
	e := f.start(t, l)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { wake(t, e, l, "a") })
	}
	all.Wait()
	if s := l.awaitDone(t, "a"); s.MostAtOnce != 1 {
		t.Errorf("%d runs of one session at once; want 1", s.MostAtOnce)
	}
}

func testWakeDuringPeekPeeksAgain(t *testing.T, f *fixture) {
	l := newLedger()
	peeking, resume := make(chan struct{}), make(chan struct{})
	l.onPeek = func(_ context.Context, session string, n int) (engine.Decision, error) {
		if n > 1 {
			return l.now(session)
		}
		d := engine.Decision{Verb: engine.Idle, Revision: 1} // what it saw before the second wake
		close(peeking)
		<-resume
		return d, nil
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	<-peeking
	wake(t, e, l, "a")
	close(resume)
	l.awaitDone(t, "a")
}

func testWakeDuringRunPeeksAgain(t *testing.T, f *fixture) {
	l := newLedger()
	running, resume := make(chan struct{}), make(chan struct{})
	l.onRun = func(_ context.Context, a engine.Attempt, n int) error {
		l.settle(a.Session)
		if n == 1 {
			close(running)
			<-resume
		}
		return nil
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	<-running
	wake(t, e, l, "a")
	close(resume)
	if s := l.awaitDone(t, "a"); s.Runs < 2 {
		t.Errorf("%d runs; want another for the wake during the first", s.Runs)
	}
}

// testWakeWhileClosingIsSeen wakes in each peek that finds nothing, so also in
// the one that would close the loop.
func testWakeWhileClosingIsSeen(t *testing.T, f *fixture) {
	const rounds = 8
	l := newLedger()
	var e engine.Engine
	woken := 0 // peeks of one session never overlap
	l.onPeek = func(_ context.Context, session string, _ int) (engine.Decision, error) {
		d, err := l.now(session)
		if d.Verb == engine.Idle && woken < rounds {
			woken++
			wake(t, e, l, session) // the answer is from before it
		}
		return d, err
	}
	e = f.start(t, l)
	wake(t, e, l, "a")
	s := l.await(t, "a", "every round's wake run", func(s state) bool {
		return s.RunsDone >= rounds+1 && s.Waiting == 0
	})
	if s.MostAtOnce != 1 {
		t.Errorf("%d runs at once; want 1", s.MostAtOnce)
	}
}

func testClosedLoopOpensAgain(t *testing.T, f *fixture) {
	l := newLedger()
	e := f.start(t, l)
	for n := 1; n <= 3; n++ {
		wake(t, e, l, "a")
		s := l.awaitDone(t, "a")
		if s.Runs != n {
			t.Fatalf("%d runs after wake %d", s.Runs, n)
		}
		// Two idle peeks in a row: the one after the run and the closing one.
		l.await(t, "a", "the closing peek", func(now state) bool { return now.PeeksDone >= s.PeeksDone+1 })
	}
}

// testStalePeekDoesNotClose answers Idle with an old revision: the loop keeps on
// peeking until it gets an answer that knows of the newest wake.
func testStalePeekDoesNotClose(t *testing.T, f *fixture) {
	l := newLedger()
	l.onPeek = func(_ context.Context, session string, n int) (engine.Decision, error) {
		if n <= 4 {
			return engine.Decision{Verb: engine.Idle}, nil
		}
		return l.now(session)
	}
	e := f.start(t, l)
	wake(t, e, l, "a")
	if s := l.awaitDone(t, "a"); s.Runs != 1 {
		t.Errorf("%d runs; want 1", s.Runs)
	}
}

// testManySessionsInParallel has all sessions in a run at the same time. On a busy
// machine an engine may lose a run that it handed out; it notices by the heartbeat,
// so that runs report here. Engines that write every step to a disk get fewer.
func testManySessionsInParallel(t *testing.T, f *fixture) {
	sessions := int64(200)
	if f.can.Durable {
		sessions = 40
	}
	l := newLedger()
	together := make(chan struct{})
	var started sync.Map
	var all atomic.Int64
	l.onRun = func(ctx context.Context, a engine.Attempt, _ int) error {
		if _, again := started.LoadOrStore(a.Session, true); !again && all.Add(1) == sessions {
			close(together)
		}
		if err := report(ctx, a, together); err != nil {
			return err
		}
		l.settle(a.Session)
		return nil
	}
	quick := timing
	quick.HeartbeatTimeout = 5 * time.Second
	e := f.open(t, quick)
	f.startOn(t, e, l)
	for n := range sessions {
		go wake(t, e, l, fmt.Sprintf("s%d", n))
	}
	for n := range sessions {
		if s := l.awaitDone(t, fmt.Sprintf("s%d", n)); s.MostAtOnce != 1 {
			t.Errorf("session %d: %d runs at once", n, s.MostAtOnce)
		}
	}
}

// report heartbeats until done is closed or the attempt is given up.
func report(ctx context.Context, a engine.Attempt, done <-chan struct{}) error {
	beat := time.NewTicker(timing.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-beat.C:
			a.Heartbeat()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
