package runner_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
)

func (p *process) wakes() int64 { return p.engine.(*counted).wakes.Load() }

// Turns that a process begins by itself need no engine, and take their turns in order.
func TestTurnsBeginWithoutTheEngine(t *testing.T) {
	t.Parallel()
	p := startWith(t, sqlitetest.Fresh(t), answer, true)
	defer p.stop()
	p.declare()
	var all sync.WaitGroup
	for range 30 {
		session, _ := p.send("")
		p.control.Wake(session, 1)
		all.Go(func() {
			p.send(session)
			p.send(session)
			p.control.Wake(session, 3)
			p.await(session, "turn.completed", 3)
		})
	}
	all.Wait()
	if n := p.wakes(); n != 0 {
		t.Errorf("the engine was woken %d times", n)
	}
}

// A wake that comes while a session is worked on is not lost, however close to the end
// of the work it comes.
func TestAWakeDuringTheWorkIsNotLost(t *testing.T) {
	t.Parallel()
	p := startWith(t, sqlitetest.Fresh(t), answer, true)
	defer p.stop()
	p.declare()
	session, _ := p.send("")
	p.control.Wake(session, 1)
	for n := 2; n < 40; n++ {
		p.await(session, "turn.completed", n-1)
		p.send(session)
		p.control.Wake(session, int64(n))
	}
	p.await(session, "turn.completed", 39)
	if n := p.wakes(); n != 0 {
		t.Errorf("the engine was woken %d times", n)
	}
}

// What does not find room waits in the engine.
func TestMoreSessionsThanRoomGoByTheEngine(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	p := startWith(t, sqlitetest.Fresh(t), func(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
		return func(yield func(model.Part, error) bool) {
			select {
			case <-open:
			case <-ctx.Done():
				yield(model.Part{}, context.Cause(ctx))
				return
			}
			answer(ctx, req)(yield)
		}
	}, true)
	defer p.stop()
	p.declare()
	var sessions []string
	for range 140 {
		session, _ := p.send("")
		sessions = append(sessions, session)
		p.control.Wake(session, 1)
	}
	close(open)
	for _, session := range sessions {
		p.await(session, "turn.completed", 1)
	}
	if n := p.wakes(); n < 12 {
		t.Errorf("the engine was woken %d times for 140 sessions, want 12 at least", n)
	}
}

// A server that stops gives the turns back that it began by itself, and the next one
// goes on with them.
func TestAStopGivesTurnsBackThatBeganWithoutTheEngine(t *testing.T) {
	t.Parallel()
	dir := sqlitetest.Fresh(t)
	first := startWith(t, dir, hang, true)
	first.declare()
	session, execution := first.send("")
	first.control.Wake(session, 1)
	first.await(session, "agent.message.delta", 1)
	first.stop()
	second := startWith(t, dir, answer, true)
	defer second.stop()
	e := second.await(session, "turn.completed", 1)
	if e.GetExecutionId() != execution || e.GetGeneration() != 2 {
		t.Errorf("the turn went on as %v", e)
	}
	recovered := second.await(session, "turn.recovery.requested", 1).GetTurnRecoveryRequested()
	if recovered.GetReason() != "released" {
		t.Errorf("the turn was taken up for the reason %q", recovered.GetReason())
	}
}

// A cancel reaches a turn that the process began by itself.
func TestACancelReachesATurnThatBeganWithoutTheEngine(t *testing.T) {
	t.Parallel()
	dir := sqlitetest.Fresh(t)
	first := startWith(t, dir, hang, true)
	first.declare()
	session, _ := first.send("")
	first.control.Wake(session, 1)
	first.await(session, "agent.message.delta", 1)
	first.stop()
	held := startWith(t, dir, hang, true)
	defer held.stop()
	held.await(session, "agent.message.delta", 2)
	out, err := held.store.RequestCancel(t.Context(), store.CancelRequest{Session: session, Reason: "enough", Now: time.Now()})
	if err != nil || len(out.Tell) != 1 {
		t.Fatalf("the cancel gave %v, %v", out, err)
	}
	held.runner.Cancel(out.Tell[0])
	held.await(session, "turn.cancelled", 1)
}
