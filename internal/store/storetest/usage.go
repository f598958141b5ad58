package storetest

import (
	"testing"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// usages: each model request counts once: at its hold while it is open, at what
// the provider told when it is answered, at its hold for ever when nobody saw the
// answer; and also after its session is deleted.
func usages(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	a, b := s.claimed("one"), s.claimed("two")
	next := epoch.Add(24 * time.Hour)
	hold := func(number int32, model string) store.Dispatch {
		return store.Dispatch{Number: number, Model: model, Now: epoch, Hold: &messagev1.Usage{InputTokens: 100, OutputTokens: 50, CostNanoUsd: 900}}
	}
	answer := func(number int32, at time.Time, u *messagev1.Usage) store.Response {
		return store.Response{Number: number, Item: assistant("hm"), Usage: u, Now: at}
	}
	s.must(s.Dispatch(ctx, a.Fence, hold(1, "m/cheap")))
	s.must(s.Respond(ctx, a.Fence, answer(1, epoch, &messagev1.Usage{InputTokens: 7, OutputTokens: 3, CachedInputTokens: 2, CacheWriteInputTokens: 1, ReasoningTokens: 1, CostNanoUsd: 10})))
	s.must(s.Dispatch(ctx, a.Fence, hold(2, "m/dear")))
	s.must(s.Respond(ctx, a.Fence, answer(2, next, &messagev1.Usage{InputTokens: 20, OutputTokens: 5, UnpricedCalls: 1})))
	s.must(s.Dispatch(ctx, b.Fence, hold(1, "m/cheap")))

	sums, err := s.Usage(ctx, store.UsageQuery{By: store.UsageByExecution, Limit: 10})
	s.must(err)
	if len(sums.Groups) != 2 || sums.Groups[0].Key != b.Execution || sums.Groups[1].Key != a.Execution || sums.More {
		t.Fatalf("the executions are %+v, want the one with more tokens first", sums.Groups)
	}
	if g := sums.Groups[0]; g.Calls != 1 || g.Open != 1 || !g.Usage.GetEstimated() || g.Usage.GetInputTokens() != 100 || g.Usage.GetCostNanoUsd() != 900 {
		t.Errorf("an open request counts as %+v", g)
	}
	g := sums.Groups[1]
	want := &messagev1.Usage{InputTokens: 27, OutputTokens: 8, CachedInputTokens: 2, CacheWriteInputTokens: 1, ReasoningTokens: 1, CostNanoUsd: 10, UnpricedCalls: 1}
	if g.Calls != 2 || g.Open != 0 || g.Usage.String() != want.String() || !g.First.Equal(epoch) || !g.Last.Equal(next) {
		t.Errorf("the answered requests count as %+v, want %v", g, want)
	}
	if sums.Total.Calls != 3 || sums.Total.Usage.GetInputTokens() != 127 || sums.Total.Key != "" {
		t.Errorf("the total is %+v", sums.Total)
	}
	s.groups(store.UsageQuery{By: store.UsageByModel}, "m/cheap", "m/dear")
	s.groups(store.UsageQuery{By: store.UsageByDay}, "2026-01-02", "2026-01-03")
	s.groups(store.UsageQuery{By: store.UsageByOrg, Org: "default"}, "default")
	s.groups(store.UsageQuery{By: store.UsageByOrg, Org: "other"})
	s.groups(store.UsageQuery{By: store.UsageByAgent, Agent: "agt_1"}, "agt_1")
	s.groups(store.UsageQuery{By: store.UsageBySession, Since: next}, a.Session)
	s.groups(store.UsageQuery{By: store.UsageByModel, Until: next}, "m/cheap")
	s.groups(store.UsageQuery{By: store.UsageByModel, Session: b.Session}, "m/cheap")
	s.groups(store.UsageQuery{By: store.UsageByModel, Execution: a.Execution, Since: next}, "m/dear")

	s.must(s.Settle(ctx, b.Fence, completed()))
	u := s.status(b.Execution).GetUsage()
	if u.GetCostNanoUsd() != 900 || !u.GetEstimated() || u.GetInputTokens() != 100 {
		t.Errorf("an execution that ended without its answer shows %v", u)
	}
	_, err = s.DeleteSession(ctx, b.Session, nil)
	s.must(err)
	sums, err = s.Usage(ctx, store.UsageQuery{By: store.UsageBySession, Limit: 1})
	s.must(err)
	if len(sums.Groups) != 1 || !sums.More || sums.Groups[0].Key != b.Session || sums.Groups[0].Open != 0 || sums.Total.Usage.GetInputTokens() != 127 {
		t.Errorf("after the deletion the sums are %+v", sums)
	}
	if _, err := s.Usage(ctx, store.UsageQuery{By: "weather", Limit: 1}); err == nil {
		t.Error("usage was added up by what it does not have")
	}
}

// groups checks the keys that a query finds.
func (f *fixture) groups(q store.UsageQuery, want ...string) {
	f.t.Helper()
	q.Limit = 100
	sums, err := f.Usage(f.t.Context(), q)
	f.must(err)
	var got []string
	for _, g := range sums.Groups {
		got = append(got, g.Key)
	}
	if len(got) != len(want) {
		f.t.Errorf("%+v finds %v, want %v", q, got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			f.t.Errorf("%+v finds %v, want %v", q, got, want)
		}
	}
}
