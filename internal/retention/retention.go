// Package retention removes old events and usage of sessions that rest, in the
// background and in small transactions.
//
// It never removes what a transcript needs, and never anything of a session with open
// work. Of several servers on one database one does it. What was removed is not
// silent: a cursor from before it is refused by name.
package retention

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// Env says how long events and usage are kept: a number of days such as 90d, or of
// hours such as 36h. Unset: for ever.
const Env = "CADRE_RETENTION"

// Least is the shortest age that may be set.
const Least = time.Hour

// Age reads the setting; 0 means for ever.
func Age(env func(string) string) (time.Duration, error) {
	word := strings.TrimSpace(env(Env))
	if word == "" {
		return 0, nil
	}
	var age time.Duration
	var err error
	if days, ok := strings.CutSuffix(word, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		age = time.Duration(n) * 24 * time.Hour
	} else {
		age, err = time.ParseDuration(word)
	}
	if err != nil || age <= 0 {
		return 0, fault.New(fault.InvalidArgument, "BAD_RETENTION", "%s=%s is no age: write a number of days such as 90d, or of hours such as 36h", Env, word)
	}
	if age < Least {
		return 0, fault.New(fault.InvalidArgument, "BAD_RETENTION", "%s=%s is too short: what is younger than an hour may still be read on from; write 1h or more, or 90d", Env, word)
	}
	return age, nil
}

// Options of a Worker.
type Options struct {
	Store store.Store
	Age   time.Duration // must be positive
	Owner string        // this process
	Now   func() time.Time
	Log   *slog.Logger
	// Every is the time between two looks. Default: a tenth of Age, between a second
	// and an hour.
	Every time.Duration
	// Pause is what is left to others between two transactions. Default 20 ms.
	Pause time.Duration
}

// Sizes of one transaction and of one read.
const (
	batch = 500
	page  = 100
)

// leaseTime is how long a server that died keeps others from going on.
const leaseTime = 10 * time.Minute

// leaseName is what only one server does.
const leaseName = "retention"

// Worker removes what is old. Make it with New.
type Worker struct{ Options }

// New makes a Worker.
func New(o Options) *Worker {
	if o.Every == 0 {
		o.Every = min(max(o.Age/10, time.Second), time.Hour)
	}
	if o.Pause == 0 {
		o.Pause = 20 * time.Millisecond
	}
	return &Worker{o}
}

// Run looks again and again until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	for {
		sum, err := w.Pass(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.Log.WarnContext(ctx, "retention did not come to its end; it is tried again", "error", err)
		case sum != Sum{}:
			w.Log.InfoContext(ctx, "old events and usage were removed", "sessions", sum.Sessions, "events", sum.Events, "model_requests", sum.Usage)
		}
		if w.wait(ctx, w.Every) != nil {
			return
		}
	}
}

// Sum is what a pass removed.
type Sum struct {
	Sessions int
	Events   int
	Usage    int64 // model requests of deleted sessions
}

// errElsewhere says that another server does it.
var errElsewhere = errors.New("another server has the lease")

// Pass looks at every session once.
func (w *Worker) Pass(ctx context.Context) (Sum, error) {
	var sum Sum
	err := w.pass(ctx, &sum)
	if errors.Is(err, errElsewhere) {
		err = nil
	}
	return sum, err
}

func (w *Worker) pass(ctx context.Context, sum *Sum) error {
	before := w.Now().Add(-w.Age)
	for after := ""; ; {
		if err := w.lease(ctx); err != nil {
			return err
		}
		found, err := w.Store.Settled(ctx, after, page)
		if err != nil {
			return err
		}
		for _, s := range found {
			after = s.Session
			if !s.Newest.Before(before) {
				continue
			}
			if err := w.session(ctx, s, sum); err != nil {
				return err
			}
		}
		if len(found) < page {
			break
		}
		if err := w.wait(ctx, w.Pause); err != nil {
			return err
		}
	}
	return w.deleted(ctx, before, sum)
}

func (w *Worker) lease(ctx context.Context) error {
	now := w.Now()
	_, err := w.Store.AcquireLease(ctx, leaseName, w.Owner, leaseTime, now)
	if errors.Is(err, store.ErrLeaseHeld) {
		return errElsewhere
	}
	return err
}

// session removes what is surplus of one session. One that somebody goes on with
// meanwhile is left as it is by then: each step leaves a log that is in order.
func (w *Worker) session(ctx context.Context, s store.Settled, sum *Sum) error {
	surplus, err := w.surplus(ctx, s)
	if err != nil {
		return err
	}
	for first := true; first || len(surplus) > 0; first = false {
		n := min(batch, len(surplus))
		last := n == len(surplus)
		done, err := w.Store.Trim(ctx, store.Trim{Session: s.Session, LastSeq: s.LastSeq, Events: surplus[:n], Usage: last, Swept: last})
		if err != nil || !done {
			return err
		}
		surplus = surplus[n:]
		sum.Events += n
		if err := w.wait(ctx, w.Pause); err != nil {
			return err
		}
	}
	sum.Sessions++
	return nil
}

// surplus reads a session's log through.
func (w *Worker) surplus(ctx context.Context, s store.Settled) ([]int64, error) {
	found := eventlog.NewSurplus()
	for after := int64(0); ; {
		events, err := w.Store.Events(ctx, store.EventQuery{Session: s.Session, After: after, Limit: batch, MaxDepth: -1})
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			after = e.GetSeq()
			found.Add(e)
		}
		if len(events) < batch {
			return found.Events(), nil
		}
		if err := w.wait(ctx, w.Pause); err != nil {
			return nil, err
		}
	}
}

// deleted removes the usage of sessions that are no more.
func (w *Worker) deleted(ctx context.Context, before time.Time, sum *Sum) error {
	for {
		n, err := w.Store.TrimUsage(ctx, before, batch)
		sum.Usage += n
		if err != nil || n < batch {
			return err
		}
		if err := w.wait(ctx, w.Pause); err != nil {
			return err
		}
	}
}

func (w *Worker) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
