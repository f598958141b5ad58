package control

import (
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

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
		d := decide(c.work, "mine", func(string) bool { return c.alive }, now)
		if d.Verb != c.want || !d.Until.Equal(c.until) {
			t.Errorf("%s: got %s until %s, want %s until %s", name, d.Verb, d.Until, c.want, c.until)
		}
	}
}
