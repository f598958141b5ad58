package temporal

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/cadre-dev/cadre/internal/engine"
)

const (
	longestBackoff = 10 * time.Second
	longestCall    = time.Minute         // of a peek or an interruption
	longestAttempt = 30 * 24 * time.Hour // heartbeats end a dead one much earlier

	// fullHistory is the number of events above which a run of the session workflow
	// hands over to a new one. A turn makes about a dozen.
	fullHistory = 2000
)

// sessionLoop is the session workflow: it interprets the verbs. What it does
// follows from its history alone; a change of the order of its commands needs a
// workflow.GetVersion or a new name.
type sessionLoop struct {
	ctx    workflow.Context
	timing engine.Timing
	state  sessionState
	wakes  workflow.ReceiveChannel

	failures int  // consecutive ones of handlers
	closing  bool // it lingered in vain: the next idle peek closes
}

// run peeks and obeys until the loop closes or its history is full. It never ends
// while a wake waits in the channel; a wake that arrives in the very moment of
// ending makes the server refuse the end and hand out the task again.
func (l *sessionLoop) run() error {
	for {
		l.drain()
		if l.full() {
			return workflow.NewContinueAsNewError(l.ctx, sessionWorkflow, l.state)
		}
		d, err := l.peek()
		if err != nil {
			l.backoff()
			continue
		}
		if l.obey(d) && !l.drain() {
			return nil
		}
	}
}

// obey does what a peek said and tells whether the loop is ready to close.
func (l *sessionLoop) obey(d decision) (closes bool) {
	if d.Verb != engine.Idle {
		l.closing = false
	}
	switch d.Verb {
	case engine.Run:
		l.attempt(d)
	case engine.Interrupt:
		l.settle(l.interrupt(d))
	case engine.WaitUntil:
		l.failures = 0
		l.wait(max(d.Until.Sub(workflow.Now(l.ctx)), time.Millisecond))
	case engine.Idle:
		return l.idle(d)
	default:
		l.backoff()
	}
	return false
}

// idle lingers the first time and agrees to close the second time, unless the
// ledger answered from before the newest wake.
func (l *sessionLoop) idle(d decision) (closes bool) {
	if d.Revision < l.state.Seen {
		l.backoff()
		return false
	}
	l.failures = 0
	if l.closing {
		l.closing = false
		return true
	}
	l.closing = !l.wait(l.timing.Linger)
	return false
}

func (l *sessionLoop) peek() (d decision, err error) {
	err = workflow.ExecuteLocalActivity(l.local(), peekActivity, l.state.Session).Get(l.ctx, &d)
	return d, err
}

func (l *sessionLoop) interrupt(d decision) error {
	return workflow.ExecuteLocalActivity(l.local(), interruptAct, l.state.Session, d.Execution).Get(l.ctx, nil)
}

// attempt runs one attempt. One that ended without settling is looked after at
// once the first time; one whose process died always.
func (l *sessionLoop) attempt(d decision) {
	ctx := workflow.WithActivityOptions(l.ctx, workflow.ActivityOptions{
		StartToCloseTimeout: longestAttempt,
		HeartbeatTimeout:    l.timing.HeartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	in := attemptInput{Session: l.state.Session, Execution: d.Execution, Attempt: d.Attempt}
	err := workflow.ExecuteActivity(ctx, attemptActivity, in).Get(l.ctx, nil)
	var failed *temporal.ApplicationError
	unsettled := errors.As(err, &failed) && failed.Type() == failureUnsettled
	switch {
	case !unsettled:
		l.failures = 0
	case l.failures == 0:
		l.failures = 1
	default:
		l.backoff()
	}
}

func (l *sessionLoop) settle(err error) {
	if err != nil {
		l.backoff()
		return
	}
	l.failures = 0
}

func (l *sessionLoop) local() workflow.Context {
	return workflow.WithLocalActivityOptions(l.ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: longestCall,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
	})
}

// backoff waits longer after each consecutive failure; a wake cuts it short.
func (l *sessionLoop) backoff() {
	d := l.timing.PeekBackoff << min(l.failures, 20)
	l.failures++
	l.wait(min(d, longestBackoff))
}

// wait tells whether a wake ended it.
func (l *sessionLoop) wait(d time.Duration) (woken bool) {
	ctx, cancel := workflow.WithCancel(l.ctx)
	defer cancel()
	workflow.NewSelector(ctx).
		AddFuture(workflow.NewTimer(ctx, d), func(workflow.Future) {}).
		AddReceive(l.wakes, func(c workflow.ReceiveChannel, _ bool) {
			var revision int64
			c.Receive(ctx, &revision)
			l.state.Seen = max(l.state.Seen, revision)
			woken = true
		}).
		Select(ctx)
	return woken
}

// drain takes the wakes that wait and tells whether there were any. The next peek
// sees what they were for.
func (l *sessionLoop) drain() (any bool) {
	var revision int64
	for l.wakes.ReceiveAsync(&revision) {
		l.state.Seen = max(l.state.Seen, revision)
		any = true
	}
	return any
}

func (l *sessionLoop) full() bool {
	info := workflow.GetInfo(l.ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() > fullHistory
}
