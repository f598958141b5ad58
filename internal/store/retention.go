package store

import (
	"context"
	"time"
)

// Retention removes what nobody needs any more, in small transactions.
type Retention interface {
	// Settled lists up to limit sessions, in id order after the given id, without open
	// work, wake-up or timer, whose log has grown since retention looked at it last.
	Settled(ctx context.Context, after string, limit int) ([]Settled, error)
	// Trim removes events and usage of a session, unless something is open in it or its
	// log has grown: then it does nothing and answers false.
	Trim(ctx context.Context, t Trim) (bool, error)
	// TrimUsage removes up to limit model requests of deleted sessions that were settled
	// before a time, and answers how many there were.
	TrimUsage(ctx context.Context, before time.Time, limit int) (int64, error)
}

// Settled is a session that rests.
type Settled struct {
	Session string
	LastSeq int64
	Newest  time.Time // of its newest event
}

// Trim is what to remove of a session.
type Trim struct {
	Session string
	LastSeq int64   // as it was when Events were chosen
	Events  []int64 // numbers, in any order
	Usage   bool    // all of its model requests too
	Swept   bool    // this was the last of it: the log is not looked at again before it grows
}
