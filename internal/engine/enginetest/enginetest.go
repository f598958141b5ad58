// Package enginetest is the suite that every driver of the engine seam passes.
// It drives an engine with a small ledger of its own and checks what package
// engine promises. It waits for events and never for time: the long deadline in
// it only ends a test that has failed.
package enginetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

// timing has short waits and a heartbeat timeout so long that no test can pass by
// it.
var timing = engine.Timing{
	Linger:           200 * time.Millisecond,
	Heartbeat:        100 * time.Millisecond,
	HeartbeatTimeout: 10 * time.Minute,
	PeekBackoff:      5 * time.Millisecond,
}

// Open makes a fresh engine that is not started and knows nothing. It cleans up
// with t.Cleanup.
type Open func(t *testing.T, timing engine.Timing) engine.Engine

// Capabilities say what a driver can do beyond the common promises. Tests of what
// is missing are skipped by name.
type Capabilities struct {
	// Durable engines keep sessions over the end of their process.
	Durable bool
	// Elsewhere is an engine whose server is in another process: it has no id and does
	// not work before Connected was called.
	Elsewhere bool
	// Kill ends a started engine as a crash would, without any farewell, and
	// answers a new one over the same files. Needed when Durable.
	Kill func(t *testing.T, e engine.Engine, timing engine.Timing) engine.Engine
}

// patience ends a test that waits for what will not happen.
const patience = 3 * time.Minute

// Run runs the suite.
func Run(t *testing.T, open Open, can Capabilities) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.durable && !can.Durable {
				t.Skip("the driver lacks the capability: durable")
			}
			c.test(t, &fixture{open: open, can: can})
		})
	}
}

var cases = []struct {
	name    string
	durable bool
	test    func(t *testing.T, f *fixture)
}{
	{"WakePeeksAndRuns", false, testWakePeeksAndRuns},
	{"WakesNeverOverlapRuns", false, testWakesNeverOverlapRuns},
	{"WakeDuringPeekPeeksAgain", false, testWakeDuringPeekPeeksAgain},
	{"WakeDuringRunPeeksAgain", false, testWakeDuringRunPeeksAgain},
	{"WakeWhileClosingIsSeen", false, testWakeWhileClosingIsSeen},
	{"ClosedLoopOpensAgain", false, testClosedLoopOpensAgain},
	{"StalePeekDoesNotClose", false, testStalePeekDoesNotClose},
	{"WaitUntilFires", false, testWaitUntilFires},
	{"WaitUntilIsCutShort", false, testWaitUntilIsCutShort},
	{"InterruptIsCalled", false, testInterruptIsCalled},
	{"InterruptIsRetried", false, testInterruptIsRetried},
	{"PeekIsRetried", false, testPeekIsRetried},
	{"PeekPanicIsRetried", false, testPeekPanicIsRetried},
	{"RunErrorPeeksAgain", false, testRunErrorPeeksAgain},
	{"RunPanicPeeksAgain", false, testRunPanicPeeksAgain},
	{"AttemptIsNamed", false, testAttemptIsNamed},
	{"ManySessionsInParallel", false, testManySessionsInParallel},
	{"UnavailableBeforeStart", false, testUnavailableBeforeStart},
	{"UnavailableAfterStop", false, testUnavailableAfterStop},
	{"StopCancelsAndWaits", false, testStopCancelsAndWaits},
	{"StopGivesUpWithItsContext", false, testStopGivesUpWithItsContext},
	{"AbandonUnknown", false, testAbandonUnknown},
	{"AbandonRunning", true, testAbandonRunning},
	{"KilledEngineContinues", true, testKilledEngineContinues},
	{"KilledEngineKeepsItsTimers", true, testKilledEngineKeepsItsTimers},
}

type fixture struct {
	open Open
	can  Capabilities
}

// start opens an engine and starts it on the ledger. It is stopped at the end of
// the test, when the test did not do that.
func (f *fixture) start(t *testing.T, l *ledger) engine.Engine {
	t.Helper()
	e := f.open(t, timing)
	f.startOn(t, e, l)
	return e
}

func (f *fixture) startOn(t *testing.T, e engine.Engine, l *ledger) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.Start(ctx, l); err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
	if told := l.awaitEngine(t, 1); told == "" || told != e.ID() {
		t.Errorf("Connected tells the id %q, the engine says %q", told, e.ID())
	}
	if err := e.Health(ctx); err != nil {
		t.Fatalf("Health after Start: %v", err)
	}
}

// wake commits a new revision of the session and tells the engine, as often as it
// takes: so does the dispatcher of an outbox.
func wake(t *testing.T, e engine.Engine, l *ledger, session string) {
	t.Helper()
	revision := l.commit(session)
	end := time.Now().Add(patience)
	for {
		err := e.Wake(t.Context(), session, revision)
		switch {
		case err == nil:
			return
		case !errors.Is(err, engine.ErrUnavailable) || time.Now().After(end):
			t.Errorf("Wake(%s): %v", session, err)
			return
		}
	}
}
