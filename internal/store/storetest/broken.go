package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// FindsBroken checks that the judge of histories finds ledgers that are none: it is
// worth nothing when it finds nothing. The broken ones are made over a driver's store.
func FindsBroken(t *testing.T, open Open) {
	for name, broken := range map[string]func(store.Ledger) store.Ledger{
		"lets a stale writer write": func(l store.Ledger) store.Ledger { return lenient{l} },
		"claims without proof":      func(l store.Ledger) store.Ledger { return greedy{l} },
		"loses late events":         func(l store.Ledger) store.Ledger { return forgetful{l} },
		"peeks at the past":         func(l store.Ledger) store.Ledger { return late{l, &sync.Mutex{}, &store.Work{}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := few.linearizable(t.Context(), 1, []store.Ledger{broken(open(t))})
			if err == nil || !strings.Contains(err.Error(), "no order of these operations") {
				t.Errorf("its history passed for one of a ledger (%v)", err)
			}
		})
	}
}

// lenient lets a writer that was fenced write as the owner.
type lenient struct{ store.Ledger }

func (l lenient) Append(ctx context.Context, f store.Fence, events []*eventv1.Event) error {
	live, err := l.LiveAttempts(ctx)
	for _, a := range live {
		if a.Session == f.Session {
			f = a.Fence
		}
	}
	return errors.Join(err, l.Ledger.Append(ctx, f, events))
}

// greedy takes an execution over without proof that its owner is gone.
type greedy struct{ store.Ledger }

func (g greedy) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	live, err := g.LiveAttempts(ctx)
	for _, a := range live {
		if a.Session == c.Session {
			c.Gone = a.Attempt
		}
	}
	if err != nil {
		return store.Claimed{}, err
	}
	return g.Ledger.Claim(ctx, c)
}

// forgetful refuses a late writer and does not keep what it said.
type forgetful struct{ store.Ledger }

func (l forgetful) Append(ctx context.Context, f store.Fence, events []*eventv1.Event) error {
	live, err := l.LiveAttempts(ctx)
	for _, a := range live {
		if a.Fence == f {
			return l.Ledger.Append(ctx, f, events)
		}
	}
	return errors.Join(err, store.ErrFenced)
}

// late answers peeks with what was true the time before.
type late struct {
	store.Ledger
	mu   *sync.Mutex
	last *store.Work
}

func (l late) Peek(ctx context.Context, session string, now time.Time) (store.Work, error) {
	w, err := l.Ledger.Peek(ctx, session, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	w, *l.last = *l.last, w
	return w, err
}
