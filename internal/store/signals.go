package store

import (
	"context"
	"time"
)

// How long a signal's key is taken.
const (
	SignalClaimed   = 5 * time.Minute // while it is being delivered
	SignalDelivered = 24 * time.Hour  // after that
)

// Signal is what is known of a key under which something came in. Its id is `org:key`.
type Signal struct {
	ID        string
	Claim     string // the claim that holds it, as its claimer named it
	Delivered bool
	Answer    string // what the delivery led to; "" before
	ExpiresAt time.Time
}

// SignalID is the id of a key within an organization.
func SignalID(org, key string) string { return org + ":" + key }

// Signals lets each signal through once. Times are the caller's: an entry that has
// expired is as good as none.
type Signals interface {
	// ClaimSignal takes a key for SignalClaimed. claimed says whether it did; otherwise
	// the answer is the entry that has the key. Of many claims at once one succeeds. claim is
	// a name that no other claim has.
	ClaimSignal(ctx context.Context, org, key, claim string, now time.Time) (s Signal, claimed bool, err error)
	// DeliverSignal says that a claim's signal was delivered: its key stays taken for
	// SignalDelivered from now. done is false when another claim has the key.
	DeliverSignal(ctx context.Context, org, key, claim, answer string, now time.Time) (done bool, err error)
	// ReleaseSignal gives a claimed key back. done is false when it was delivered, when
	// another claim has it, and when nobody has.
	ReleaseSignal(ctx context.Context, org, key, claim string) (done bool, err error)
	// SweepSignals removes expired entries and counts them.
	SweepSignals(ctx context.Context, now time.Time) (int64, error)
}
