package memory

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/id"
)

const longestBackoff = 10 * time.Second

// loop is the loop of one session, from its first wake until it closes.
type loop struct {
	m       *memory
	session string
	runID   string        // what tells this loop from an earlier one of the session
	nudge   chan struct{} // holds at most one: "peek again"
	seen    int64         // the newest wake revision, guarded by m.mu

	attempts int  // how many this loop ran
	failures int  // consecutive ones of peeks or of attempts
	closing  bool // it lingered in vain: the next idle peek closes
}

func newLoop(m *memory, session string) *loop {
	return &loop{m: m, session: session, runID: id.New("run"), nudge: make(chan struct{}, 1)}
}

// run peeks and obeys until the loop closes or the engine stops.
func (l *loop) run() {
	for l.m.ctx.Err() == nil {
		select {
		case <-l.nudge: // the peek below sees what this nudge was for
		default:
		}
		d, err := l.peek()
		if err != nil {
			l.backoff("peek failed", err)
			continue
		}
		if closed := l.obey(d); closed {
			return
		}
	}
	l.close()
}

// obey does what a peek said and tells whether the loop closed.
func (l *loop) obey(d engine.Decision) (closed bool) {
	if d.Verb != engine.Idle {
		l.closing = false
	}
	switch d.Verb {
	case engine.Run:
		l.attempt(d)
	case engine.Interrupt:
		l.interrupt(d)
	case engine.WaitUntil:
		l.failures = 0
		l.wait(max(time.Until(d.Until), time.Millisecond))
	case engine.Idle:
		return l.idle(d)
	default:
		l.backoff("peek answered an unknown verb", fmt.Errorf("verb %q", d.Verb))
	}
	return false
}

// idle lingers the first time and closes the second time, unless a wake came in
// between or the ledger answered from before the newest wake.
func (l *loop) idle(d engine.Decision) (closed bool) {
	if d.Revision < l.newest() {
		l.backoff("peek answered from before the newest wake", nil)
		return false
	}
	l.failures = 0
	if l.closing {
		l.closing = false
		return l.tryClose()
	}
	l.closing = !l.wait(l.m.timing.Linger)
	return false
}

func (l *loop) peek() (d engine.Decision, err error) {
	err = l.guard(func() (err error) {
		d, err = l.m.handlers.Peek(l.m.ctx, l.session)
		return err
	})
	return d, err
}

func (l *loop) attempt(d engine.Decision) {
	l.attempts++
	a := engine.Attempt{
		Session:   l.session,
		Execution: d.Execution,
		ID:        d.Attempt,
		Activity:  engine.ActivityRef{Workflow: "session/" + l.session, Run: l.runID, Activity: fmt.Sprint(l.attempts)},
		Heartbeat: func() {},
	}
	err := l.guard(func() error { return l.m.handlers.Run(l.m.ctx, a) })
	switch {
	case err == nil:
		l.failures = 0
	case l.failures == 0: // the first time, look again at once
		l.failures = 1
		l.report("attempt ended without settling", err)
	default:
		l.backoff("attempt ended without settling", err)
	}
}

func (l *loop) interrupt(d engine.Decision) {
	err := l.guard(func() error { return l.m.handlers.Interrupt(l.m.ctx, l.session, d.Execution) })
	if err != nil {
		l.backoff("interruption was not settled", err)
		return
	}
	l.failures = 0
}

// guard calls a handler and makes an error of its panic.
func (l *loop) guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// backoff waits longer after each consecutive failure; a wake cuts it short.
func (l *loop) backoff(what string, err error) {
	l.report(what, err)
	d := l.m.timing.PeekBackoff << min(l.failures, 20)
	l.failures++
	l.wait(min(d, longestBackoff))
}

func (l *loop) report(what string, err error) {
	if l.m.ctx.Err() == nil {
		l.m.log.WarnContext(l.m.ctx, "session loop stumbled", "what", what, "session", l.session, "error", err)
	}
}

// wait tells whether a nudge ended it. The caller peeks next in any case.
func (l *loop) wait(d time.Duration) (nudged bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.nudge:
		return true
	case <-t.C:
		return false
	case <-l.m.ctx.Done():
		return false
	}
}

func (l *loop) newest() int64 {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.seen
}

// tryClose closes unless a nudge waits. Wake holds the same lock, so that it
// either finds this loop and its nudge is seen, or opens another.
func (l *loop) tryClose() (closed bool) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	if len(l.nudge) > 0 {
		return false
	}
	delete(l.m.loops, l.session)
	return true
}

func (l *loop) close() {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.loops, l.session)
}
