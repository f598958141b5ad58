package control

import (
	"context"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

// living is a runner whose attempts all live, or none does.
type living bool

func (l living) Alive(string) bool                               { return bool(l) }
func (living) Run(context.Context, engine.Attempt, string) error { return nil }
func (living) Sessions() []string                                { return nil }
func (living) Look(context.Context, string) error                { return nil }

// An attempt of another server is nobody's to take over, whatever this one knows.
func TestDecideLeavesAttemptsOfOtherServersAlone(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	c := New(Options{BootEpoch: "mine", Node: "nod_a", Shared: struct{ store.Shared }{}, Runner: living(false), Now: func() time.Time { return now }})
	for node, want := range map[string]engine.Verb{"nod_a": engine.Run, "nod_b": engine.WaitUntil} {
		w := store.Work{Execution: "x", State: store.WorkClaim, Attempt: store.LiveAttempt{Fence: store.Fence{Attempt: "att"}, BootEpoch: "before", Node: node}}
		if d := c.decide(w); d.Verb != want {
			t.Errorf("an attempt of %s gives %s, want %s", node, d.Verb, want)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	owned := func(boot string) store.LiveAttempt {
		return store.LiveAttempt{Fence: store.Fence{Attempt: "att"}, BootEpoch: boot}
	}
	for name, c := range map[string]struct {
		work  store.Work
		alive bool
		want  engine.Verb
		until time.Time
	}{
		"nothing to do":                       {store.Work{}, false, engine.Idle, time.Time{}},
		"a timer":                             {store.Work{Due: now.Add(time.Hour)}, false, engine.WaitUntil, now.Add(time.Hour)},
		"queued":                              {store.Work{Execution: "x", State: store.WorkClaim}, false, engine.Run, time.Time{}},
		"owned by a living attempt":           {store.Work{Execution: "x", State: store.WorkClaim, Attempt: owned("mine")}, true, engine.WaitUntil, now.Add(aliveAgain)},
		"owned by an attempt that ended":      {store.Work{Execution: "x", State: store.WorkClaim, Attempt: owned("mine")}, false, engine.Run, time.Time{}},
		"owned by a dead process":             {store.Work{Execution: "x", State: store.WorkClaim, Attempt: owned("before")}, true, engine.Run, time.Time{}},
		"cancelled, nobody works on it":       {store.Work{Execution: "x", State: store.WorkInterrupt}, false, engine.Interrupt, time.Time{}},
		"cancelled, an attempt still settles": {store.Work{Execution: "x", State: store.WorkInterrupt, Attempt: owned("mine")}, true, engine.WaitUntil, now.Add(aliveAgain)},
	} {
		control := New(Options{BootEpoch: "mine", Runner: living(c.alive), Now: func() time.Time { return now }})
		d := control.decide(c.work)
		if d.Verb != c.want || !d.Until.Equal(c.until) {
			t.Errorf("%s: got %s until %s, want %s until %s", name, d.Verb, d.Until, c.want, c.until)
		}
	}
}
