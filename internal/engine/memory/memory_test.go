package memory_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/engine/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	t.Parallel()
	enginetest.Run(t, func(_ *testing.T, timing engine.Timing) engine.Engine {
		return memory.New(memory.Options{Timing: timing, Log: slog.New(slog.DiscardHandler)})
	}, enginetest.Capabilities{})
}

func TestIDsDiffer(t *testing.T) {
	t.Parallel()
	if a, b := memory.New(memory.Options{}).ID(), memory.New(memory.Options{}).ID(); a == b {
		t.Errorf("two engines have the id %s", a)
	}
}

// peeks answers what its function says and keeps the times at which it was asked.
type peeks struct {
	began  time.Time
	at     []time.Duration
	answer func(n int) (engine.Decision, error)
}

func (p *peeks) Peek(context.Context, string) (engine.Decision, error) {
	p.at = append(p.at, time.Since(p.began))
	return p.answer(len(p.at))
}

func (p *peeks) Run(context.Context, engine.Attempt) error { return context.DeadlineExceeded }

func (*peeks) Connected(context.Context, string)                 {}
func (p *peeks) Interrupt(context.Context, string, string) error { return nil }

func begin(t *testing.T, answer func(n int) (engine.Decision, error)) (engine.Engine, *peeks) {
	t.Helper()
	p := &peeks{began: time.Now(), answer: answer}
	e := memory.New(memory.Options{Log: slog.New(slog.DiscardHandler)})
	if err := e.Start(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := e.Wake(t.Context(), "a", 0); err != nil {
		t.Fatal(err)
	}
	return e, p
}

func expect(t *testing.T, p *peeks, want ...time.Duration) {
	t.Helper()
	synctest.Wait()
	if len(p.at) != len(want) {
		t.Fatalf("peeks at %v; want %v", p.at, want)
	}
	for n := range want {
		if p.at[n] != want[n] {
			t.Errorf("peeks at %v; want %v", p.at, want)
		}
	}
}

func TestLingersThenCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, p := begin(t, func(int) (engine.Decision, error) { return engine.Decision{Verb: engine.Idle}, nil })
		time.Sleep(time.Hour)
		expect(t, p, 0, 5*time.Second)
		if err := e.Wake(t.Context(), "a", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		expect(t, p, 0, 5*time.Second, time.Hour, time.Hour+5*time.Second)
	})
}

func TestBacksOffUpToTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p := begin(t, func(int) (engine.Decision, error) { return engine.Decision{}, context.DeadlineExceeded })
		time.Sleep(33 * time.Second)
		ms := time.Millisecond
		expect(t, p, 0, 100*ms, 300*ms, 700*ms, 1500*ms, 3100*ms, 6300*ms, 12700*ms, 22700*ms, 32700*ms)
	})
}

func TestFailingRunsBackOffFromTheSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p := begin(t, func(int) (engine.Decision, error) { return engine.Decision{Verb: engine.Run}, nil })
		time.Sleep(time.Second)
		ms := time.Millisecond
		expect(t, p, 0, 0, 200*ms, 600*ms)
	})
}

func TestWaitsUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(time.Hour)
		_, p := begin(t, func(n int) (engine.Decision, error) {
			if n == 1 {
				return engine.Decision{Verb: engine.WaitUntil, Until: until}, nil
			}
			return engine.Decision{Verb: engine.Idle}, nil
		})
		time.Sleep(2 * time.Hour)
		expect(t, p, 0, time.Hour, time.Hour+5*time.Second)
	})
}
