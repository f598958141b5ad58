package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

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

// The checker of histories is worth nothing when it finds nothing.
func TestTheHistoryOfABrokenLedgerIsFound(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(store.Ledger) store.Ledger{
		"lets a stale writer write": func(l store.Ledger) store.Ledger { return lenient{l} },
		"claims without proof":      func(l store.Ledger) store.Ledger { return greedy{l} },
		"loses late events":         func(l store.Ledger) store.Ledger { return forgetful{l} },
		"peeks at the past":         func(l store.Ledger) store.Ledger { return late{l, &sync.Mutex{}, &store.Work{}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := storetest.Linearizable(t.Context(), 1, broken(open(t))); err == nil || !strings.Contains(err.Error(), "no order of these operations") {
				t.Errorf("its history passed for one of a ledger (%v)", err)
			}
		})
	}
}

// quality.md, Reliability 8: two handles of one database, as two processes have.
func TestTwoHandlesOfOneDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var handles []store.Ledger
	for range 2 {
		s, err := sqlite.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		handles = append(handles, s)
	}
	seed := uint64(time.Now().UnixNano())
	if err := storetest.Linearizable(t.Context(), seed, handles...); err != nil {
		t.Error(err)
	}
	storetest.OneWins(t, handles[0], handles[1])
	if matches, err := filepath.Glob(filepath.Join(dir, "*.db")); err != nil || len(matches) != 1 {
		t.Errorf("the handles use the files %v (%v)", matches, err)
	}
}
