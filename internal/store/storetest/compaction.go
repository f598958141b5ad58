package storetest

import (
	"errors"
	"slices"
	"testing"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/store"
)

// compactions: a history is replaced whole, with the usage of the request that gave it, by who
// owns the turn; what is added afterwards stands behind it, over attempts and turns.
func compactions(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("one")
	s.ask(c, 1, "c1")
	s.must(s.StartTools(ctx, c.Fence, []store.ToolStart{{CallID: "c1", Class: "read_only", Event: event.New(epoch, &eventv1.AgentToolStarted{CallId: "c1"})}}))
	s.must(s.FinishTools(ctx, c.Fence, []store.ToolFinish{{CallID: "c1", Item: result("c1"), Event: event.New(epoch, &eventv1.AgentToolCompleted{CallId: "c1"})}}))
	c = s.over(c)
	if got := c.Shown; got.Kept != 0 || got.Tokens != 10 || got.Counted != 2 || got.Taken != nil || len(c.History) != 3 {
		t.Errorf("before it the history of %d items is %+v", len(c.History), got)
	}

	s.must(s.Dispatch(ctx, c.Fence, store.Dispatch{Number: 2, Hold: &messagev1.Usage{InputTokens: 100, OutputTokens: 50}, Now: epoch}))
	short := []*messagev1.Item{user("one"), user("summary")}
	s.compactionRefused(c, short)
	with := store.Compaction{Number: 2, Usage: &messagev1.Usage{InputTokens: 20, OutputTokens: 2}, History: short, Now: epoch,
		Events: []*eventv1.Event{event.New(epoch, &eventv1.ContextCompacted{Call: 2, Reason: "window"})}}
	s.must(s.Compact(ctx, c.Fence, with))
	if err := s.Compact(ctx, c.Fence, with); err == nil {
		t.Error("one request gave two histories")
	}
	if got := s.types(c.Session); got[len(got)-1] != "context.compacted" {
		t.Errorf("the log ends with %s", got[len(got)-1])
	}
	c = s.over(c)
	if got := c.Shown; got.Kept != 2 || got.Tokens != 0 || got.Counted != 0 || !slices.Equal(got.Taken, []string{"c1"}) {
		t.Errorf("after it the history is %+v", got)
	}
	if c.Calls != 2 || c.Usage.GetInputTokens() != 27 || c.Usage.GetOutputTokens() != 5 || c.Usage.GetEstimated() {
		t.Errorf("%d requests are booked as %v", c.Calls, c.Usage)
	}
	s.says(c, "one", "summary")

	s.ask(c, 3)
	s.must(s.Settle(ctx, c.Fence, completed()))
	next := input(nil, c.Session, "two")
	s.must(second(s.Accept(ctx, next)))
	c, err := s.Claim(ctx, claimOf(c.Session, next.Execution.ID, ""))
	s.must(err)
	s.says(c, "one", "summary", "hm", "two")
	if got := c.Shown; got.Kept != 2 || got.Tokens != 10 || got.Counted != 3 {
		t.Errorf("in the next turn the history is %+v", got)
	}
}

// over releases a claim and takes the turn again.
func (f *fixture) over(c store.Claimed) store.Claimed {
	f.t.Helper()
	f.must(f.Release(f.t.Context(), c.Fence, "server_stopping", epoch))
	return f.takes(c)
}

// compactionRefused tries what must change nothing.
func (f *fixture) compactionRefused(c store.Claimed, short []*messagev1.Item) {
	f.t.Helper()
	stale := c.Fence
	stale.Generation--
	for name, try := range map[string]struct {
		fence store.Fence
		with  store.Compaction
		want  error
	}{
		"a stale attempt":        {stale, store.Compaction{Number: 2, Usage: &messagev1.Usage{}, History: short, Now: epoch}, store.ErrFenced},
		"a request that is none": {c.Fence, store.Compaction{Number: 9, Usage: &messagev1.Usage{}, History: short, Now: epoch}, nil},
		"an empty history":       {c.Fence, store.Compaction{Number: 2, Usage: &messagev1.Usage{}, Now: epoch}, nil},
	} {
		if err := f.Compact(f.t.Context(), try.fence, try.with); err == nil || try.want != nil && !errors.Is(err, try.want) {
			f.t.Errorf("%s gave %v", name, err)
		}
	}
}

// says compares the texts of a claim's history.
func (f *fixture) says(c store.Claimed, want ...string) {
	f.t.Helper()
	var got []string
	for _, item := range c.History {
		text := item.GetUser().GetText()
		for _, p := range item.GetAssistant().GetParts() {
			text += p.GetText()
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("the history is %q, want %q", got, want)
	}
}
