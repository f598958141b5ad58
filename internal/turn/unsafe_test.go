package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/turn"
)

// risky is an unsafe tool that counts its runs. With hold it runs until its
// context ends, and knows what came of it.
type risky struct {
	runs chan string
	hold bool
}

func newRisky(hold bool) risky { return risky{runs: make(chan string, 10), hold: hold} }

func (risky) Spec() tool.Spec {
	return tool.Spec{Name: "risky", Description: "x", Schema: []byte(`{"type":"object"}`), Class: tool.Unsafe}
}

func (r risky) Run(ctx context.Context, _ tool.Env, c tool.Call) (tool.Result, error) {
	r.runs <- c.ID
	if r.hold {
		<-ctx.Done()
		return tool.Result{Text: "it was ended in the middle", IsError: true}, context.Cause(ctx)
	}
	return tool.Result{Text: "ran"}, nil
}

// riskyWorld plays a model that asks for one risky call and then ends.
func riskyWorld(t *testing.T, r risky, mode agentexecutionv1.ApprovalMode) *world {
	t.Helper()
	w := newWorld(t)
	w.tools["risky"], w.approve = r, mode
	w.play = replies([]model.Part{call("c1", "risky", `{}`), end(1, 1)}, []model.Part{text("so it is"), end(1, 1)})
	return w
}

func TestAnUnsafeCallNeedsAWord(t *testing.T) {
	t.Parallel()
	for mode, runs := range map[agentexecutionv1.ApprovalMode]int{
		agentexecutionv1.ApprovalMode_auto:                      1,
		agentexecutionv1.ApprovalMode_deny:                      0,
		agentexecutionv1.ApprovalMode_approval_mode_unspecified: 0,
	} {
		r := newRisky(false)
		w := riskyWorld(t, r, mode)
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(r.runs) != runs || w.count("agent.tool.started") != runs || w.count("agent.tool.completed") != runs {
			t.Errorf("%s: it ran %d times, want %d; the log is %v", mode, len(r.runs), runs, w.types())
		}
		if runs == 0 {
			if told := w.last("agent.tool.failed").GetAgentToolFailed().GetResult(); !strings.Contains(told, "--approve auto") || !strings.HasPrefix(told, "Denied") {
				t.Errorf("%s: the model is told %q", mode, told)
			}
		}
		if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_completed {
			t.Errorf("%s: the turn is %s", mode, st.GetPhase())
		}
	}
}

// An attempt that dies in an unsafe call leaves it unknown: the turn waits, and
// goes on without running the call again.
func TestAnUnsafeCallIsNeverRunAgainByItself(t *testing.T) {
	t.Parallel()
	r := newRisky(false)
	w := riskyWorld(t, r, agentexecutionv1.ApprovalMode_auto)
	w.accept("go")
	first := w.claim("")
	if err := turn.Run(t.Context(), &crashingWorld{w, &crashing{Store: w.store, at: "finish"}}, first, impatient); err == nil {
		t.Fatal("the attempt did not crash")
	}
	if err := turn.Run(t.Context(), w, w.claim(first.Attempt), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_waiting || st.GetWaitingFor() != store.WaitOutcomeUnknown {
		t.Fatalf("the execution is %v, want it to wait", st)
	}
	if _, err := w.store.Recover(t.Context(), store.RecoverRequest{Session: w.session, Now: w.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(r.runs) != 1 || w.count("agent.tool.outcome_unknown") != 1 || w.count("turn.completed") != 1 || w.count("turn.reopened") != 1 {
		t.Errorf("it ran %d times; the log is %v", len(r.runs), w.types())
	}
}

// What a tool knows of its own end is kept, whatever ended it: the next attempt
// need not wonder.
func TestAnInterruptedCallWithAKnownOutcomeIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRisky(true)
	w := riskyWorld(t, r, agentexecutionv1.ApprovalMode_auto)
	w.accept("go")
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		<-r.runs
		stop(engine.ErrStopping)
	}()
	if err := turn.Run(ctx, w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := w.last("agent.tool.failed").GetAgentToolFailed().GetResult(); got != "it was ended in the middle" {
		t.Errorf("the log says %q", got)
	}
	if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_queued {
		t.Errorf("a turn that was given back is %s, and nobody owns it", st.GetPhase())
	}
	if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.status().GetPhase() != agentexecutionv1.ExecutionPhase_completed || w.count("agent.tool.started") != 1 || len(r.runs) != 0 {
		t.Errorf("the log is %v", w.types())
	}
	if got := w.last("turn.recovery.requested").GetTurnRecoveryRequested().GetReason(); got != "released" {
		t.Errorf("the turn was taken up again because of %q", got)
	}
}

// A cancelled turn settles once its processes are proven gone, and says who is
// still alive until then.
func TestACancelledTurnWaitsForItsProcesses(t *testing.T) {
	t.Parallel()
	r := newRisky(true)
	w := riskyWorld(t, r, agentexecutionv1.ApprovalMode_auto)
	tries := 0
	w.end = func(_ context.Context, session, execution string) error {
		if session != w.session || execution != w.execution {
			t.Errorf("the processes of %s, %s are ended", session, execution)
		}
		if tries++; tries == 1 {
			return errors.New("42 (stuck) is alive")
		}
		if w.count("turn.cancelled") != 0 {
			t.Error("the turn was settled before its processes were gone")
		}
		if got := w.status().GetUnconfirmed(); len(got) != 1 || got[0] != "42 (stuck) is alive" {
			t.Errorf("the execution names %v", got)
		}
		return nil
	}
	w.accept("go")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-r.runs
		cancel(turn.ErrCancelled)
	}()
	if err := turn.Run(ctx, w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if tries != 2 || w.count("turn.cancelling") != 1 || w.count("turn.cancelled") != 1 {
		t.Errorf("%d tries; the log is %v", tries, w.types())
	}
	if st := w.status(); st.GetPhase() != agentexecutionv1.ExecutionPhase_cancelled || len(st.GetUnconfirmed()) != 0 {
		t.Errorf("the execution is %v", st)
	}
	if got := w.last("agent.tool.failed").GetAgentToolFailed().GetResult(); got != "it was ended in the middle" {
		t.Errorf("the log says %q of the call", got)
	}
}

// A command that ends in the moment in which its server stops has an outcome, which
// is recorded although the turn's context has ended.
func TestAnOutcomeIsRecordedAlsoWhenTheTurnIsToldToEnd(t *testing.T) {
	t.Parallel()
	w := riskyWorld(t, newRisky(false), agentexecutionv1.ApprovalMode_auto)
	ctx, stop := context.WithCancelCause(t.Context())
	w.tools["risky"] = ending{newRisky(false), func() { stop(engine.ErrStopping) }}
	w.accept("go")
	if err := turn.Run(ctx, w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.count("agent.tool.completed") != 1 {
		t.Errorf("the log is %v", w.types())
	}
}

// ending is a tool whose turn is told to end while it ends by itself.
type ending struct {
	risky
	end func()
}

func (e ending) Run(ctx context.Context, env tool.Env, c tool.Call) (tool.Result, error) {
	r, err := e.risky.Run(ctx, env, c)
	e.end()
	return r, err
}
