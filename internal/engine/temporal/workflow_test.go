package temporal

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/cadre-dev/cadre/internal/engine"
)

// simulate runs the session workflow on simulated time until it ends. peek answers
// the n-th peek, from 1; before is called before it begins, attempt in each attempt.
func simulate(t *testing.T, peek func(n int) (decision, error), before, attempt func(env *testsuite.TestWorkflowEnvironment)) (peeksAt []time.Duration, err error) {
	t.Helper()
	processOnce.Do(setProcess)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(clientLines{newLines(slog.New(slog.DiscardHandler))})
	env := suite.NewTestWorkflowEnvironment()
	h := &host{timing: engine.Timing{}.WithDefaults()}
	began := env.Now()
	env.RegisterWorkflowWithOptions(h.session, workflow.RegisterOptions{Name: sessionWorkflow})
	env.RegisterActivityWithOptions(func(context.Context, string) (decision, error) {
		peeksAt = append(peeksAt, env.Now().Sub(began))
		return peek(len(peeksAt))
	}, activity.RegisterOptions{Name: peekActivity})
	env.RegisterActivityWithOptions(func(context.Context, attemptInput) error {
		if attempt != nil {
			attempt(env)
		}
		return nil
	}, activity.RegisterOptions{Name: attemptActivity})
	if before != nil {
		before(env)
	}
	env.ExecuteWorkflow(sessionWorkflow, sessionState{Session: "a", Seen: 1})
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow did not end")
	}
	return peeksAt, env.GetWorkflowError()
}

func idleAt(revision int64) (decision, error) {
	return decision{Verb: engine.Idle, Revision: revision}, nil
}

func TestLoopLingersThenCloses(t *testing.T) {
	t.Parallel()
	at, err := simulate(t, func(int) (decision, error) { return idleAt(1) }, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(at) != 2 || at[0] != 0 || at[1] != 5*time.Second {
		t.Errorf("peeks at %v; want one at once and one after the linger", at)
	}
}

func TestLoopNeverClosesOverANewerWake(t *testing.T) {
	t.Parallel()
	at, err := simulate(t, func(n int) (decision, error) {
		if n <= 3 {
			return idleAt(1) // from before the wake
		}
		return idleAt(2)
	}, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(wakeSignal, int64(2)) }, time.Second)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The wake at 1 s, two peeks that do not know of it, one that does, the closing one.
	if len(at) != 5 || at[1] < time.Second || at[4]-at[3] < 5*time.Second {
		t.Errorf("peeks at %v", at)
	}
}

func TestLoopBacksOff(t *testing.T) {
	t.Parallel()
	at, err := simulate(t, func(n int) (decision, error) {
		if n <= 4 {
			return decision{}, errors.New("on purpose")
		}
		return idleAt(1)
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := 100 * time.Millisecond
	for n := range 4 {
		if got := at[n+1] - at[n]; got < want || got > 2*want {
			t.Errorf("wait %d is %v; want %v", n, got, want)
		}
		want *= 2
	}
}

func TestFullHistoryHandsOver(t *testing.T) {
	t.Parallel()
	_, err := simulate(t, func(n int) (decision, error) {
		if n > 1 {
			t.Error("a peek in a run whose history is full")
		}
		return decision{Verb: engine.Run, Execution: "exe", Attempt: "att", Revision: 1}, nil
	}, nil, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetCurrentHistoryLength(fullHistory + 1)
		env.SignalWorkflow(wakeSignal, int64(7))
	})
	var next *workflow.ContinueAsNewError
	if !errors.As(err, &next) {
		t.Fatalf("the run ended with %v; want that it continues as new", err)
	}
	var state sessionState
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &state); err != nil {
		t.Fatal(err)
	}
	if state != (sessionState{Session: "a", Seen: 7}) {
		t.Errorf("the next run begins with %+v; want the newest wake", state)
	}
}
