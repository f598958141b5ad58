// Package bounded keeps the calls of a store within bounds: each has a deadline, and
// only so many read at once. The others wait for their turn, within their deadline.
//
// It changes no answer and keeps nothing.
package bounded

import (
	"context"
	"errors"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// Options of the bounds.
type Options struct {
	Read  time.Duration // how long a reading call may take. Default 30 s
	Write time.Duration // how long a writing one may. Default 60 s
	Reads int           // how many may read at once. Default 64
}

// errLate is the cause with which a bound ends a call.
var errLate = errors.New("the store's own deadline")

// New puts bounds around a store.
func New(s store.Store, o Options) store.Store {
	if o.Read == 0 {
		o.Read = 30 * time.Second
	}
	if o.Write == 0 {
		o.Write = 60 * time.Second
	}
	if o.Reads == 0 {
		o.Reads = 64
	}
	b := &bounds{o, make(chan struct{}, o.Reads)}
	return store.Around(s, b.do)
}

type bounds struct {
	Options
	places chan struct{} // of those that read now
}

func (b *bounds) do(ctx context.Context, c store.Call, next func(context.Context) error) error {
	limit := b.Read
	if c.Write {
		limit = b.Write
	}
	bound, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	if !c.Write {
		select {
		case b.places <- struct{}{}:
			defer func() { <-b.places }()
		case <-bound.Done():
			return late(bound, limit, context.Cause(bound))
		}
	}
	return late(bound, limit, next(bound))
}

// late names the error of a call that this package ended.
func late(bound context.Context, limit time.Duration, err error) error {
	ours := errors.Is(context.Cause(bound), errLate)
	if err == nil || !ours || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errLate) {
		return err
	}
	return fault.New(fault.Unavailable, "STORE_TOO_SLOW", "the store did not answer within %s: try again; `cadre doctor` says more when it stays so", limit).Retry().Because(err)
}
