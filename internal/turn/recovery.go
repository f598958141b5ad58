package turn

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// Recovery bounds how often and how soon a turn is tried again by itself. Between two
// tries nothing of it runs: the ledger has the time when it goes on. The zero value means
// the defaults.
type Recovery struct {
	// Delays are the waits before each try. They begin anew with a whole answer. An empty
	// list that is not nil tries nothing again. Default 2, 5, 15, 30 and 60 s.
	Delays []time.Duration
	// Longest bounds what a provider may ask to wait: beyond it the turn fails at once.
	// Default 15 min.
	Longest time.Duration
	// Overloads bounds the tries at an overloaded provider, which do not count among the
	// others, and OverloadTime the time from the first to the last. Default 15 in 15 min.
	Overloads    int
	OverloadTime time.Duration
}

func (r Recovery) withDefaults() Recovery {
	if r.Delays == nil {
		r.Delays = []time.Duration{2 * time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}
	}
	if r.Longest == 0 {
		r.Longest = 15 * time.Minute
	}
	if r.Overloads == 0 {
		r.Overloads = 15
	}
	if r.OverloadTime == 0 {
		r.OverloadTime = 15 * time.Minute
	}
	return r
}

// EnvDelays sets Recovery.Delays for a server: durations with commas between, or off.
const EnvDelays = "CADRE_RECOVERY_DELAYS"

// Delays reads the setting; nil where there is none.
func Delays(env func(string) string) ([]time.Duration, error) {
	text := strings.TrimSpace(env(EnvDelays))
	switch text {
	case "":
		return nil, nil
	case "off":
		return []time.Duration{}, nil
	}
	var all []time.Duration
	for word := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(word))
		if err != nil || d < 0 || d > time.Hour {
			return nil, fault.New(fault.InvalidArgument, "BAD_RECOVERY_DELAYS",
				"%s=%s is no list of delays: write durations of at most an hour with commas between, such as 2s,5s,15s,30s,1m, or off", EnvDelays, text)
		}
		all = append(all, d)
	}
	return all, nil
}

// stage is how far an attempt came.
type stage struct {
	fence store.Fence
	input string // that the turn answers
	ready bool   // its set-up is over: there is a model to ask and somebody who is told
	asked bool   // it made a model request
}

// way is how a turn is recovered.
type way int

const (
	noWay way = iota // it is not
	early            // it is set up again: nothing of this attempt was shown, so that there is nothing to keep
	again            // the same request is made again, after all that was shown is durable
)

// way decides how a failure is recovered from. Early is only what failed before anybody
// was asked or told anything; all else needs a turn that was set up.
func (s stage) way(f failure.Failure) way {
	known := s.fence.Execution != "" && s.input != "" && s.fence.Generation > 0
	switch {
	case !known || f.Budget == failure.Never:
		return noWay
	case s.ready:
		return again
	case f.Setup && !s.asked:
		return early
	}
	return noWay
}

// try is one recovery that is allowed.
type try struct {
	done   store.Recoveries // this one is counted
	delay  time.Duration
	number int32 // of its budget, from 1
	most   int32 // of its budget
}

// next is the recovery that comes after those that were made; false when the failure's
// budget is used up.
func (r Recovery) next(made store.Recoveries, f failure.Failure, now time.Time) (try, bool) {
	if len(r.Delays) == 0 {
		return try{}, false
	}
	made.Code = f.Code
	if f.Budget == failure.Overload {
		return r.overload(made, f, now)
	}
	t := try{done: made, number: made.Count + 1, most: int32(len(r.Delays))}
	if t.number > t.most {
		return try{}, false
	}
	t.done.Count = t.number
	t.delay = max(r.delay(made.Count), f.Wait)
	if f.Budget == failure.RateLimit { // the provider knows; where it does not say, a rate is one per minute
		if t.delay = f.Wait; t.delay == 0 {
			t.delay = r.Delays[len(r.Delays)-1]
		}
	}
	return t, true
}

// overload is next for the budget of overloads.
func (r Recovery) overload(made store.Recoveries, f failure.Failure, now time.Time) (try, bool) {
	t := try{done: made, number: made.Overloads + 1, most: int32(r.Overloads), delay: max(r.delay(made.Overloads), f.Wait)}
	if made.Since.IsZero() {
		t.done.Since = now
	}
	t.done.Overloads = t.number
	return t, t.number <= t.most && !now.Add(t.delay).After(t.done.Since.Add(r.OverloadTime))
}

// delay is the wait after so many tries; the last one repeats.
func (r Recovery) delay(tries int32) time.Duration {
	return r.Delays[min(int(tries), len(r.Delays)-1)]
}

// failed ends an attempt with a failure of its turn: the turn waits to be tried again
// where that may be, and fails otherwise.
func (t *turn) failed(ctx context.Context, err error) error {
	f := failure.Classify(err)
	now := stage{fence: t.claim.Fence, input: t.claim.Input, ready: t.ready, asked: t.calls > t.claim.Calls}
	if f.Budget == failure.Capacity {
		return t.waitForCapacity(ctx, f)
	}
	w := now.way(f)
	if w == noWay || f.Wait > t.opt.Recovery.Longest {
		return t.settleFailed(ctx, f, err)
	}
	made := t.claim.Recoveries
	next, ok := t.opt.Recovery.next(made, f, t.fx.Now())
	if !ok {
		if tries := made.Count + made.Overloads; tries > 0 {
			f = f.Exhausted(tries)
		}
		return t.settleFailed(ctx, f, err)
	}
	return t.waitToRecover(ctx, w, f, next)
}

// shortest is how long a turn waits at least for what is said to be there already.
const shortest = 2 * time.Second

// waitForCapacity ends the attempt until the time at which a credential is known to be
// free again. That is no try: it may happen as often as it takes.
func (t *turn) waitForCapacity(ctx context.Context, f failure.Failure) error {
	until := f.Until
	if soonest := t.fx.Now().Add(shortest); until.Before(soonest) {
		until = soonest
	}
	told := f.Proto()
	t.fx.Log().InfoContext(ctx, "turn waits for a free credential", "execution", t.claim.Execution, "until", until)
	return t.settle(ctx, store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_waiting, WaitingFor: store.WaitCapacity, Until: until, Error: told,
		Events: func(store.Totals) []*eventv1.Event {
			return []*eventv1.Event{t.event(&eventv1.TurnWaiting{WaitingFor: store.WaitCapacity, Until: timestamppb.New(until), Error: told})}
		},
	})
}

// waitToRecover ends the attempt; the turn goes on with the peek that finds its timer due.
func (t *turn) waitToRecover(ctx context.Context, w way, f failure.Failure, next try) error {
	what := store.WaitProvider
	if w == early {
		what = store.WaitSetup
	}
	until := t.fx.Now().Add(next.delay)
	f.Advice = ""
	told := f.Proto()
	t.fx.Log().InfoContext(ctx, "turn waits to be tried again", "execution", t.claim.Execution, "code", f.Code,
		"recovery", next.number, "of", next.most, "until", until)
	return t.settle(ctx, store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_waiting, WaitingFor: what, Until: until, Error: told, Recoveries: &next.done,
		Events: func(store.Totals) []*eventv1.Event {
			return []*eventv1.Event{t.event(&eventv1.TurnWaiting{
				WaitingFor: what, Until: timestamppb.New(until), Error: told, Recovery: next.number, Recoveries: next.most,
			})}
		},
	})
}
