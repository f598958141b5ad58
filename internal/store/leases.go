package store

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Lease is the right of one holder to do what a name stands for, until it expires.
// The epoch only rises: who acts under a lease shows its epoch, and whoever has
// seen a higher one refuses. Expiry goes by the callers' clocks, so that clocks
// which differ by more than what is left of a lease can overlap; the epoch is what
// fences.
type Lease struct {
	Name    string
	Holder  string
	Epoch   int64
	Expires time.Time
}

// Leases are kept for ever: a name's epoch never begins again. Nothing in Cadre
// enforces one yet; this is the contract that roles and machines will be held to.
type Leases interface {
	// AcquireLease takes a name that is free, expired or already the holder's, with the
	// next epoch. ErrLeaseHeld, with holder and expiry, otherwise. Of many calls at once
	// one succeeds.
	AcquireLease(ctx context.Context, name, holder string, ttl time.Duration, now time.Time) (Lease, error)
	// RenewLease moves the expiry of a lease that is still l's. ErrLeaseLost when it has
	// expired, was released, or was taken over.
	RenewLease(ctx context.Context, l Lease, ttl time.Duration, now time.Time) (Lease, error)
	// ReleaseLease frees a name at once. ErrLeaseLost when it is not l's any more; the
	// one that has it keeps it.
	ReleaseLease(ctx context.Context, l Lease) error
	// Lease reads one; the zero Lease with its name when it was never taken, no holder
	// when it was released.
	Lease(ctx context.Context, name string) (Lease, error)
}

// The faults of leases.
var (
	ErrLeaseHeld = fault.New(fault.FailedPrecondition, "LEASE_HELD", "somebody else holds this lease")
	ErrLeaseLost = fault.New(fault.Aborted, "LEASE_LOST", "this lease is no longer yours; stop what you do under it")
)

// LeaseHeld tells who has a lease.
func LeaseHeld(l Lease) *fault.Fault {
	until := l.Expires.UTC().Format(time.RFC3339)
	return ErrLeaseHeld.Saying("%s holds the lease %s until %s; wait, or have it released", l.Holder, l.Name, until).
		With("lease", l.Name).With("holder", l.Holder).With("expires", until)
}
