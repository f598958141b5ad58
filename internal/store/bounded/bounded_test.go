package bounded_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/bounded"
)

// slow is a store that answers after a time, or when its caller gives up.
type slow struct {
	store.Store
	time    time.Duration
	now     atomic.Int32
	most    atomic.Int32
	refused error
}

func (s *slow) wait(ctx context.Context) error {
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.time):
		return s.refused
	}
}

func (s *slow) BootState(ctx context.Context, _ string) (string, error) { return "v", s.wait(ctx) }
func (s *slow) SetBootState(ctx context.Context, _, _ string) error     { return s.wait(ctx) }

func TestACallThatTakesTooLongIsEndedAndNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bounded.New(&slow{time: time.Hour}, bounded.Options{})
		began := time.Now()
		if _, err := b.BootState(t.Context(), "k"); fault.ReasonOf(err) != "STORE_TOO_SLOW" || !fault.From(err).Retryable || time.Since(began) != 30*time.Second {
			t.Errorf("after %s it says %v", time.Since(began), err)
		}
		began = time.Now()
		if err := b.SetBootState(t.Context(), "k", "v"); fault.ReasonOf(err) != "STORE_TOO_SLOW" || time.Since(began) != time.Minute {
			t.Errorf("after %s it says %v", time.Since(began), err)
		}
	})
}

func TestWhatTheCallerEndsIsTheCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b := bounded.New(&slow{time: time.Hour}, bounded.Options{})
		if _, err := b.BootState(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || fault.ReasonOf(err) == "STORE_TOO_SLOW" {
			t.Errorf("it says %v", err)
		}
		refused := fault.New(fault.NotFound, "NOT_FOUND", "no")
		b = bounded.New(&slow{refused: refused}, bounded.Options{})
		if err := b.SetBootState(t.Context(), "k", "v"); !errors.Is(err, refused) {
			t.Errorf("an answer became %v", err)
		}
	})
}

func TestOnlySoManyReadAtOnceAndAllAreAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{time: time.Second}
		b := bounded.New(s, bounded.Options{Reads: 4})
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() {
				if v, err := b.BootState(t.Context(), "k"); v != "v" || err != nil {
					t.Errorf("%q, %v", v, err)
				}
			})
		}
		all.Wait()
		if got := s.most.Load(); got != 4 {
			t.Errorf("%d read at once", got)
		}
		// Those that wait for their turn have the same deadline.
		s.time = 20 * time.Second
		began, late := time.Now(), atomic.Int32{}
		for range 12 {
			all.Go(func() {
				if _, err := b.BootState(t.Context(), "k"); fault.ReasonOf(err) == "STORE_TOO_SLOW" {
					late.Add(1)
				}
			})
		}
		all.Wait()
		if late.Load() != 8 || time.Since(began) != 30*time.Second {
			t.Errorf("%d were late after %s", late.Load(), time.Since(began))
		}
	})
}
