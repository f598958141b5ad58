package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// seqs are the numbers of a log that may have gaps.
func (f *fixture) seqs(q store.EventQuery) (all []int64) {
	f.t.Helper()
	q.Limit, q.MaxDepth = 1000, -1
	events, err := f.Events(f.t.Context(), q)
	f.must(err)
	for _, e := range events {
		all = append(all, e.GetSeq())
	}
	return all
}

func (f *fixture) settled() (ids []string) {
	f.t.Helper()
	all, err := f.Settled(f.t.Context(), "", 100)
	f.must(err)
	for _, s := range all {
		ids = append(ids, s.Session)
	}
	return ids
}

func retention(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	c := s.claimed("hello")
	s.ask(c, 1)
	for range 5 {
		s.must(s.Append(ctx, c.Fence, delta("x")))
	}
	st, err := s.Session(ctx, c.Session)
	s.must(err)
	trim := func(r store.Trim) bool {
		r.Session = c.Session
		done, err := s.Trim(ctx, r)
		s.must(err)
		return done
	}
	if got := s.settled(); len(got) != 0 {
		t.Errorf("a session at work is settled: %v", got)
	}
	if trim(store.Trim{LastSeq: st.LastSeq, Events: []int64{1}}) {
		t.Error("a session at work was trimmed")
	}
	s.must(s.Settle(ctx, c.Fence, completed()))
	all := s.log(c.Session)
	last := all[len(all)-1].GetSeq()
	got, err := s.Settled(ctx, "", 100)
	if err != nil || len(got) != 1 || got[0].Session != c.Session || got[0].LastSeq != last || !got[0].Newest.Equal(epoch) {
		t.Fatalf("settled are %+v, %v", got, err)
	}
	if more, err := s.Settled(ctx, c.Session, 100); err != nil || len(more) != 0 {
		t.Errorf("after it come %v, %v", more, err)
	}
	if trim(store.Trim{LastSeq: last - 1, Events: []int64{1}}) {
		t.Error("a log that has grown was trimmed")
	}
	if !trim(store.Trim{LastSeq: last, Events: []int64{4, 2, last, 99}}) { // the newest stays, and what is not there hurts nobody
		t.Error("a settled session was not trimmed")
	}
	want := slices.DeleteFunc(numbers(last), func(n int64) bool { return n == 2 || n == 4 })
	for _, tree := range []bool{false, true} {
		if left := s.seqs(store.EventQuery{Session: c.Session, Tree: tree}); !slices.Equal(left, want) {
			t.Errorf("left are %v, want %v", left, want)
		}
	}
	if st, err := s.Session(ctx, c.Session); err != nil || st.Removed != 4 || st.RemovedTree != 4 || st.LastSeq != last {
		t.Errorf("the session is %+v, %v", st, err)
	}
	used, err := s.Usage(ctx, store.UsageQuery{By: store.UsageBySession, Limit: 10})
	if err != nil || used.Total.Calls != 1 {
		t.Errorf("usage is %+v, %v", used.Total, err)
	}
	if !trim(store.Trim{LastSeq: last, Events: []int64{3}, Usage: true, Swept: true}) || len(s.settled()) != 0 {
		t.Errorf("after it was swept it is looked at again: %v", s.settled())
	}
	if st, err := s.Session(ctx, c.Session); err != nil || st.Removed != 4 {
		t.Errorf("the session is %+v, %v", st, err)
	}
	if used, err = s.Usage(ctx, store.UsageQuery{By: store.UsageBySession, Limit: 10}); err != nil || used.Total.Calls != 0 {
		t.Errorf("usage is %+v, %v", used.Total, err)
	}
	a := input(nil, c.Session, "more") // the log grows again, and its numbers go on
	_, err = s.Accept(ctx, a)
	s.must(err)
	events, err := s.Events(ctx, store.EventQuery{Session: c.Session, After: last, Limit: 10, MaxDepth: -1, Types: []string{"input.queued"}})
	if err != nil || len(events) != 1 || events[0].GetSeq() != last+1 {
		t.Errorf("after %d comes %v, %v", last, events, err)
	}
	_, err = s.RequestCancel(ctx, store.CancelRequest{Session: c.Session, Now: epoch})
	s.must(err)
	s.must(drained(s, c.Session))
	if got := s.settled(); len(got) != 1 {
		t.Errorf("a session that went on and rests again is not looked at: %v", got)
	}
}

// drained consumes a session's wake-up.
func drained(s *fixture, session string) error {
	_, err := s.Peek(s.t.Context(), session, epoch)
	return err
}

func numbers(last int64) (all []int64) {
	for n := int64(1); n <= last; n++ {
		all = append(all, n)
	}
	return all
}

func usageOfDeleted(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	for range 3 {
		c := s.claimed("hello")
		s.ask(c, 1)
		s.must(s.Settle(ctx, c.Fence, completed()))
		if _, err := s.DeleteSession(ctx, c.Session, nil); err != nil {
			t.Fatal(err)
		}
	}
	kept := s.claimed("stays")
	s.ask(kept, 1)
	remove := func(before time.Time, limit int) int64 {
		n, err := s.TrimUsage(ctx, before, limit)
		s.must(err)
		return n
	}
	if n := remove(epoch.Add(-time.Hour), 10); n != 0 {
		t.Errorf("%d young ones were removed", n)
	}
	if a, b, c := remove(epoch.Add(time.Hour), 2), remove(epoch.Add(time.Hour), 2), remove(epoch.Add(time.Hour), 2); a != 2 || b != 1 || c != 0 {
		t.Errorf("removed were %d, %d and %d", a, b, c)
	}
	if used, err := s.Usage(ctx, store.UsageQuery{By: store.UsageBySession, Limit: 10}); err != nil || used.Total.Calls != 1 {
		t.Errorf("usage is %+v, %v", used.Total, err)
	}
}
