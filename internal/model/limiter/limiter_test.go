package limiter_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/model/limiter"
)

// enter is one that must be let go at once.
func enter(t *testing.T, l *limiter.Limiter, name, org string) func(time.Duration) {
	t.Helper()
	leave, err := l.Enter(t.Context(), name, org)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// What a provider asks one request closes its key for all, until then, and no other key.
func TestAWaitClosesTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter.New(limiter.Options{})
		began := time.Now()
		enter(t, l, "openai/a", "one")(30 * time.Second)
		enter(t, l, "anthropic/a", "one")(0)
		enter(t, l, "openai-chat:groq/a", "one")(10 * time.Second)
		enter(t, l, "openai-chat:ollama/a", "one")(0)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("other keys waited for %s", waited)
		}
		for range 2 {
			enter(t, l, "scripted:/a.yaml", "one")(time.Minute)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("scripts waited for %s", waited)
		}
		for _, c := range []struct {
			name string
			want time.Duration
		}{{"openai-chat:groq/b", 10 * time.Second}, {"openai/b", 30 * time.Second}, {"openai/a", 30 * time.Second}} {
			enter(t, l, c.name, "two")(0)
			if waited := time.Since(began); waited != c.want {
				t.Errorf("%s was let go after %s, want %s", c.name, waited, c.want)
			}
		}
		enter(t, l, "openai/a", "one")(16 * 24 * time.Hour) // a quota, not a rate
		enter(t, l, "openai/a", "one")(0)
		if waited := time.Since(began); waited != 30*time.Second {
			t.Errorf("a wait of days kept requests back for %s", waited)
		}
	})
}

// Organizations that wait are let go in turn, and none has more than its share at once.
func TestOrganizationsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter.New(limiter.Options{Most: 2, Each: 1})
		var mu sync.Mutex
		var order []string
		var leaves []func(time.Duration)
		ask := func(org string) {
			go func() {
				leave, err := l.Enter(t.Context(), "openai/a", org)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				order, leaves = append(order, org), append(leaves, leave)
			}()
			synctest.Wait()
		}
		for _, org := range []string{"big", "big", "big", "small", "third", "small"} {
			ask(org)
		}
		if want := []string{"big", "small"}; !slices.Equal(order, want) {
			t.Fatalf("at first %v were let go, want %v", order, want)
		}
		for i := range 6 {
			mu.Lock()
			leave := leaves[i]
			mu.Unlock()
			leave(0)
			leave(0) // once counts
			synctest.Wait()
		}
		if want := []string{"big", "small", "big", "third", "small", "big"}; !slices.Equal(order, want) {
			t.Errorf("they were let go as %v, want %v", order, want)
		}
	})
}

// Who gives up waiting is in nobody's way.
func TestAWishIsWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := limiter.New(limiter.Options{Most: 1})
		leave := enter(t, l, "openai/a", "one")
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		for _, org := range []string{"one", "two"} {
			if _, err := l.Enter(ctx, "openai/a", org); !errors.Is(err, gone) {
				t.Errorf("a wish that was given up gave %v", err)
			}
		}
		leave(0)
		enter(t, l, "openai/a", "two")(0)
		enter(t, l, "openai/a", "one")(0)
	})
}
