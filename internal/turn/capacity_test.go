package turn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/turn"
)

// TestATurnWaitsForCapacity: a pool without a free credential is waited for until the time
// that is known, in whatever phase it says so, and no try is used up, also not by the
// twentieth time. Nothing is booked for a request that never left. T31
func TestATurnWaitsForCapacity(t *testing.T) {
	t.Parallel()
	for name, opens := range map[string]bool{"asked": false, "opened": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.opt.Recovery.Delays = []time.Duration{time.Second}
			until := w.Now().Add(9 * 24 * time.Hour)
			none := &model.NoCapacity{Pool: "team", Until: until, Err: &model.Error{Category: model.Quota}}
			full := true
			whole := replies([]model.Part{text("whole"), end(1, 1)})
			w.play = func(ctx context.Context, req model.Request) parts {
				if full {
					return failing(none)
				}
				return whole(ctx, req)
			}
			if opens {
				w.setUp = none
			}
			if err := w.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				told := w.waits("capacity")
				if e := told.GetError(); !told.GetUntil().AsTime().Equal(until.UTC()) || e.GetCode() != "provider_capacity_exhausted" || !e.GetRetryable() || told.GetRecovery() != 0 {
					t.Fatalf("it waits until %s, want %s, and says %v", told.GetUntil().AsTime(), until.UTC(), told)
				}
				w.goOn(t.Context())
			}
			full, w.setUp = false, nil
			w.goOn(t.Context())
			done := w.last("turn.completed").GetTurnCompleted()
			if done.GetUsage().GetInputTokens() != 1 || done.GetUsage().GetEstimated() || w.count("turn.failed") != 0 || w.count("turn.started") != 1 {
				t.Errorf("the turn ended as %v in %v", done, w.types())
			}
		})
	}
}

// A time that is over already is no reason to ask without a pause.
func TestCapacityThatShouldBeThereIsAskedForSlowly(t *testing.T) {
	t.Parallel()
	for _, until := range []time.Time{{}, time.Unix(1, 0), time.Now()} {
		w := newWorld(t)
		w.setUp = errors.Join(errors.New("set-up"), &model.NoCapacity{Until: until})
		began := w.Now()
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if wait := w.waits("capacity").GetUntil().AsTime().Sub(began); wait < 2*time.Second || wait > time.Minute {
			t.Errorf("it waits %s", wait)
		}
	}
}

// Capacity that one turn waits for does not end its tries at a provider that fails. T31
func TestCapacityAndTriesAreCountedApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opt.Recovery.Delays = []time.Duration{time.Second, time.Second}
	none := &model.NoCapacity{Pool: "team", Until: w.Now().Add(time.Hour)}
	down := &model.Error{Category: model.ServerError}
	answers := []error{down, none, down, none, down}
	w.play = func(context.Context, model.Request) parts {
		err := answers[0]
		answers = answers[1:]
		return failing(err)
	}
	w.accept("go on")
	if err := turn.Run(t.Context(), w, w.claim(""), w.opt); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"provider", "capacity", "provider", "capacity"} {
		w.waits(what)
		w.goOn(t.Context())
	}
	if f := w.status().GetError(); f.GetCode() != "provider_unavailable" || f.GetRetryable() || f.GetRecoveries() != 2 || len(answers) != 0 {
		t.Errorf("the failure is %v", f)
	}
}
