package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// signals: each key lets one signal through, for 5 minutes while it is claimed and
// for 24 hours once it was delivered.
func signals(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	got := s.claims("k", "c1", epoch, true)
	if got.ID != "default:k" || got.Delivered || !got.ExpiresAt.Equal(epoch.Add(5*time.Minute)) {
		t.Errorf("the claim answers %+v", got)
	}
	if again := s.claims("k", "c2", epoch.Add(5*time.Minute-time.Nanosecond), false); again != got {
		t.Errorf("a duplicate answers %+v, want the record of the first: %+v", again, got)
	}
	s.claims("k", "c1", epoch.Add(time.Minute), true) // its own claim, asked for again
	if _, claimed, err := s.ClaimSignal(ctx, "other", "k", "c3", epoch); !claimed || err != nil {
		t.Errorf("the same key of another organization: %v, %v", claimed, err)
	}
	s.claims("k", "c4", epoch.Add(6*time.Minute), true) // after the renewed 5 minutes it is free

	delivered := epoch.Add(7 * time.Minute)
	done := func(what string, ok bool, err error, want bool) {
		t.Helper()
		s.must(err)
		if ok != want {
			t.Errorf("%s: %v, want %v", what, ok, want)
		}
	}
	ok, err := s.DeliverSignal(ctx, "default", "k", "c1", "aex_0", delivered)
	done("a delivery under a claim that was taken over", ok, err, false)
	ok, err = s.DeliverSignal(ctx, "default", "k", "c4", "aex_1", delivered)
	done("a delivery", ok, err, true)
	ok, err = s.ReleaseSignal(ctx, "default", "k", "c4")
	done("the release of what was delivered", ok, err, false)
	for _, at := range []time.Time{delivered, delivered.Add(24*time.Hour - time.Nanosecond)} {
		if d := s.claims("k", "c4", at, false); !d.Delivered || d.Answer != "aex_1" || !d.ExpiresAt.Equal(delivered.Add(24*time.Hour)) {
			t.Errorf("a duplicate at %v answers %+v", at, d)
		}
	}
	after := s.claims("k", "c5", delivered.Add(24*time.Hour), true)
	if after.Delivered || after.Answer != "" {
		t.Errorf("the claim after 24 hours is %+v", after)
	}
	ok, err = s.ReleaseSignal(ctx, "default", "k", "c4")
	done("the release of another's claim", ok, err, false)
	ok, err = s.ReleaseSignal(ctx, "default", "k", "c5")
	done("a release", ok, err, true)
	ok, err = s.ReleaseSignal(ctx, "default", "k", "c5")
	done("the release of nothing", ok, err, false)
	s.claims("k", "c6", delivered.Add(24*time.Hour), true)

	n, err := s.SweepSignals(ctx, delivered.Add(24*time.Hour+time.Minute))
	s.must(err)
	if n != 1 {
		t.Errorf("the sweep removed %d entries, want that of the other organization", n)
	}
	racingClaims(t, s)
}

// claims checks whether a claim takes a key.
func (f *fixture) claims(key, claim string, at time.Time, want bool) store.Signal {
	f.t.Helper()
	got, claimed, err := f.ClaimSignal(f.t.Context(), "default", key, claim, at)
	f.must(err)
	if claimed != want || claimed && got.Claim != claim {
		f.t.Errorf("claim %s of %s: %v with %+v, want %v", claim, key, claimed, got, want)
	}
	return got
}

func racingClaims(t *testing.T, s *fixture) {
	t.Helper()
	var all sync.WaitGroup
	won := make(chan string, 50)
	for i := range 50 {
		all.Go(func() {
			claim := fmt.Sprintf("r%d", i)
			got, claimed, err := s.ClaimSignal(t.Context(), "default", "raced", claim, epoch)
			switch {
			case err != nil:
				t.Error(err)
			case claimed:
				won <- claim
			case got.Claim == claim || got.Claim == "":
				t.Errorf("a duplicate was told of %+v", got)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Errorf("%d of 50 claims at once won, want 1", len(won))
	}
}
