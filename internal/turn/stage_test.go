package turn

import (
	"slices"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// TestHowAFailureIsRecoveredFrom: T34, T35, T36, T39, T40
func TestHowAFailureIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	unsent := failure.Classify(&failure.StartUnavailable{})
	changed := failure.Classify(&failure.PolicyChanged{Model: "m"})
	limited := failure.Classify(&model.Error{Category: model.RateLimited})
	refused := failure.Classify(&model.Error{Category: model.Refused})
	ours := failure.Classify(fault.New(fault.Unavailable, "X", "x").Retry())
	whole := stage{fence: store.Fence{Execution: "aex_1", Generation: 1}, input: "inp_1"}
	with := func(change func(*stage)) stage {
		s := whole
		change(&s)
		return s
	}
	set, asking := func(s *stage) { s.ready = true }, func(s *stage) { s.ready, s.asked = true, true }
	for name, c := range map[string]struct {
		s    stage
		f    failure.Failure
		want way
	}{
		"T34 nothing was sent, before anything":    {whole, unsent, early},
		"T35 a request began":                      {with(func(s *stage) { s.asked = true }), unsent, noWay},
		"T35 the turn was set up":                  {with(set), unsent, again},
		"T35 no turn":                              {with(func(s *stage) { s.fence.Execution = "" }), unsent, noWay},
		"T35 no input":                             {with(func(s *stage) { s.input = "" }), unsent, noWay},
		"T35 no generation":                        {with(func(s *stage) { s.fence.Generation = 0 }), unsent, noWay},
		"T36 a policy that changed":                {whole, changed, early},
		"T39 a rate limit after the set-up":        {with(asking), limited, again},
		"T40 a rate limit before the set-up":       {whole, limited, noWay},
		"a refusal":                                {with(asking), refused, noWay},
		"a fault of our own":                       {with(asking), ours, noWay},
		"what ran perhaps":                         {with(asking), failure.Classify(&failure.StartUnknown{}), noWay},
		"a rate limit of a turn without a name":    {with(func(s *stage) { s.ready, s.fence.Execution = true, "" }), limited, noWay},
		"a quota":                                  {with(asking), failure.Classify(&model.Error{Category: model.Quota}), noWay},
		"a rate limit that is a quota by its time": {with(asking), failure.Classify(&model.Error{Category: model.RateLimited, RetryAfter: time.Hour}), noWay},
	} {
		if got := c.s.way(c.f); got != c.want {
			t.Errorf("%s: way %d, want %d", name, got, c.want)
		}
	}
}

// delays plays one failure after the other and answers the waits, in seconds.
func delays(r Recovery, f failure.Failure, most int) (waits []int, made store.Recoveries) {
	now := time.Unix(1790000000, 0)
	for range most {
		next, ok := r.next(made, f, now)
		if !ok {
			break
		}
		waits, made, now = append(waits, int(next.delay.Seconds())), next.done, now.Add(next.delay)
	}
	return waits, made
}

func failureOf(c model.Category, after time.Duration) failure.Failure {
	return failure.Classify(&model.Error{Category: c, RetryAfter: after})
}

// TestTheDelays: each recovery counts one more, and the budget ends. T37
func TestTheDelays(t *testing.T) {
	t.Parallel()
	r := Recovery{}.withDefaults()
	for name, c := range map[string]struct {
		f    failure.Failure
		want []int
	}{
		"the table":                              {failureOf(model.ServerError, 0), []int{2, 5, 15, 30, 60}},
		"the provider asks for more":             {failureOf(model.Network, 20*time.Second), []int{20, 20, 20, 30, 60}},
		"a rate limit waits what it is told":     {failureOf(model.RateLimited, 3*time.Second), []int{3, 3, 3, 3, 3}},
		"a rate limit that says nothing":         {failureOf(model.RateLimited, 0), []int{60, 60, 60, 60, 60}},
		"set-up":                                 {failure.Classify(&failure.PolicyChanged{}), []int{2, 5, 15, 30, 60}},
		"overload, more often":                   {failureOf(model.Overloaded, 0), []int{2, 5, 15, 30, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60}},
		"overload, within its time":              {failureOf(model.Overloaded, 4*time.Minute), []int{240, 240, 240}},
		"overload that asks for all of its time": {failureOf(model.Overloaded, 15*time.Minute), []int{900}},
	} {
		waits, made := delays(r, c.f, 99)
		if !slices.Equal(waits, c.want) {
			t.Errorf("%s: the waits are %v, want %v", name, waits, c.want)
		}
		if n := int(made.Count + made.Overloads); n != len(c.want) || made.Code != c.f.Code {
			t.Errorf("%s: %+v is counted, want %d of %s", name, made, len(c.want), c.f.Code)
		}
	}
}

// Overload has a budget of its own: neither uses up the other's.
func TestOverloadDoesNotUseUpTheOthers(t *testing.T) {
	t.Parallel()
	r := Recovery{}.withDefaults()
	now := time.Unix(1790000000, 0)
	_, made := delays(r, failureOf(model.ServerError, 0), 5)
	next, ok := r.next(made, failureOf(model.Overloaded, 0), now)
	if !ok || next.number != 1 || next.most != 15 || next.delay != 2*time.Second || next.done.Count != 5 || !next.done.Since.Equal(now) {
		t.Errorf("after five failures the first overload gives %+v, %t", next, ok)
	}
	_, made = delays(r, failureOf(model.Overloaded, 0), 15)
	if next, ok := r.next(made, failureOf(model.ServerError, 0), now); !ok || next.number != 1 || next.most != 5 || next.done.Overloads != 15 {
		t.Errorf("after fifteen overloads the first failure gives %+v, %t", next, ok)
	}
}

func TestNothingIsTriedAgainWithoutDelays(t *testing.T) {
	t.Parallel()
	for _, c := range []model.Category{model.Overloaded, model.RateLimited, model.Network} {
		if next, ok := (Recovery{Delays: []time.Duration{}}).withDefaults().next(store.Recoveries{}, failureOf(c, 0), time.Time{}); ok {
			t.Errorf("%s gives %+v", c, next)
		}
	}
}

func TestTheDelaysOfAServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]time.Duration{
		"": nil, " off ": {}, "10ms": {10 * time.Millisecond}, "0s, 2s,1h": {0, 2 * time.Second, time.Hour},
	} {
		got, err := Delays(func(name string) string {
			if name != "CADRE_RECOVERY_DELAYS" {
				t.Errorf("the variable %s is read", name)
			}
			return text
		})
		if err != nil || !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%q gives %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"on", "2", "-1s", "2h", "2s,,5s", ","} {
		if got, err := Delays(func(string) string { return text }); fault.ReasonOf(err) != "BAD_RECOVERY_DELAYS" {
			t.Errorf("%q gives %v, %v", text, got, err)
		}
	}
}
