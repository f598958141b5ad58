package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// leases: one holder at a time by the caller's clock, and an epoch that only rises.
func leases(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	const ttl = 30 * time.Second
	if l, err := s.Lease(ctx, "sweep"); err != nil || l != (store.Lease{Name: "sweep"}) {
		t.Errorf("a lease that was never taken is %+v, %v", l, err)
	}
	a, err := s.AcquireLease(ctx, "sweep", "a", ttl, epoch)
	s.must(err)
	if a.Epoch != 1 || !a.Expires.Equal(epoch.Add(ttl)) || a.Holder != "a" {
		t.Errorf("the first lease is %+v", a)
	}
	_, err = s.AcquireLease(ctx, "sweep", "b", ttl, epoch.Add(ttl-time.Nanosecond))
	if f := fault.From(err); !errors.Is(err, store.ErrLeaseHeld) || f.Meta["holder"] != "a" || f.Meta["expires"] == "" {
		t.Errorf("a held lease gave %v, want its holder and expiry", err)
	}
	a, err = s.RenewLease(ctx, a, ttl, epoch.Add(20*time.Second))
	s.must(err)
	if got, err := s.Lease(ctx, "sweep"); err != nil || got != a || a.Epoch != 1 {
		t.Errorf("after its renewal the lease is %+v (%v), want %+v", got, err, a)
	}
	lost := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%s gave %v, want LEASE_LOST", what, err)
		}
	}
	lost("a renewal after the expiry", second(s.RenewLease(ctx, a, ttl, epoch.Add(50*time.Second))))
	b, err := s.AcquireLease(ctx, "sweep", "b", ttl, epoch.Add(50*time.Second))
	s.must(err)
	if b.Epoch != 2 {
		t.Errorf("the takeover's epoch is %d, want 2", b.Epoch)
	}
	lost("a renewal after a takeover", second(s.RenewLease(ctx, a, ttl, epoch)))
	lost("a release after a takeover", s.ReleaseLease(ctx, a))
	again, err := s.AcquireLease(ctx, "sweep", "b", ttl, epoch.Add(51*time.Second)) // the same holder, begun anew
	s.must(err)
	if again.Epoch != 3 {
		t.Errorf("the holder's second epoch is %d, want 3", again.Epoch)
	}
	lost("the release of an earlier epoch", s.ReleaseLease(ctx, b))
	s.must(s.ReleaseLease(ctx, again))
	lost("a second release", s.ReleaseLease(ctx, again))
	if l, err := s.Lease(ctx, "sweep"); err != nil || l.Holder != "" || l.Epoch != 3 {
		t.Errorf("a released lease is %+v, %v; want its epoch kept", l, err)
	}
	c, err := s.AcquireLease(ctx, "sweep", "c", ttl, epoch.Add(52*time.Second))
	s.must(err)
	if c.Epoch != 4 {
		t.Errorf("after a release the epoch is %d, want 4", c.Epoch)
	}
	if _, err := s.AcquireLease(ctx, "x", "", ttl, epoch); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a lease without a holder gave %v", err)
	}
	racingLeases(t, s)
}

func racingLeases(t *testing.T, s *fixture) {
	t.Helper()
	var all sync.WaitGroup
	won := make(chan store.Lease, 20)
	for i := range 20 {
		all.Go(func() {
			l, err := s.AcquireLease(t.Context(), "raced", fmt.Sprint("h", i), time.Minute, epoch)
			switch {
			case err == nil:
				won <- l
			case !errors.Is(err, store.ErrLeaseHeld):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Errorf("%d holders have the lease, want 1", len(won))
	}
}
