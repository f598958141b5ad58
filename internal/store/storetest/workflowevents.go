package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

func workflowEvent(execution string, seq int64) store.WorkflowEvent {
	return store.WorkflowEvent{
		Execution: execution, Seq: seq, Type: []string{"task.started", "task.completed"}[seq%2], Task: fmt.Sprintf("t%d", seq%3),
		Data: []byte(fmt.Sprintf("\x00 event %d \xff", seq)), CreatedAt: epoch.Add(time.Duration(seq) * time.Minute),
	}
}

// workflowEvents: appending the same numbers again adds what is new and nothing else.
func workflowEvents(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	if last, err := s.LastWorkflowEvent(ctx, "wex_1"); last != 0 || err != nil {
		t.Errorf("the last event of an empty log is %d, %v", last, err)
	}
	var batch []store.WorkflowEvent
	for i := int64(1); i <= 120; i++ {
		batch = append(batch, workflowEvent("wex_1", i))
	}
	s.appends(batch[:60], 60)
	other := batch[9]
	other.Data = []byte("another body under the same number")
	s.appends([]store.WorkflowEvent{other, batch[60]}, 1)
	s.appends(batch, 59)
	s.appends(batch, 0)
	s.appends([]store.WorkflowEvent{workflowEvent("wex_2", 1)}, 1)
	s.appends(nil, 0)
	if last, err := s.LastWorkflowEvent(ctx, "wex_1"); last != 120 || err != nil {
		t.Errorf("the last event is %d, %v", last, err)
	}

	all := s.reads(store.WorkflowEventQuery{Execution: "wex_1", Limit: 1000}, 120, 1)
	if e := all[9]; !bytes.Equal(e.Data, batch[9].Data) || !e.CreatedAt.Equal(batch[9].CreatedAt) || e.Type != batch[9].Type || e.Task != batch[9].Task {
		t.Errorf("event 10 is %+v, want it as it was written first", e)
	}
	s.reads(store.WorkflowEventQuery{Execution: "wex_1"}, store.WorkflowEventsPage, 1)
	s.reads(store.WorkflowEventQuery{Execution: "wex_1", Limit: -3}, store.WorkflowEventsPage, 1)
	s.reads(store.WorkflowEventQuery{Execution: "wex_1", After: 110}, 10, 111)
	s.reads(store.WorkflowEventQuery{Execution: "wex_1", After: 10, Limit: 5}, 5, 11)
	s.reads(store.WorkflowEventQuery{Execution: "wex_1", Types: []string{"task.started"}, Limit: 1000}, 60, 2)
	s.reads(store.WorkflowEventQuery{Execution: "wex_1", Types: []string{"task.started", "task.completed"}, Limit: 1000}, 120, 1)
	s.reads(store.WorkflowEventQuery{Execution: "wex_1", Task: "t0", Types: []string{"task.started"}, After: 6, Limit: 1000}, 19, 12)
	s.reads(store.WorkflowEventQuery{Execution: "wex_1", Task: "none"}, 0, 0)

	for want, before := range []time.Time{epoch, epoch.Add(2 * time.Minute)} { // wex_1 and wex_2 both have an event at the first minute
		n, err := s.SweepWorkflowEvents(ctx, before, 100)
		s.must(err)
		if n != int64(want*2) {
			t.Errorf("the sweep before %v removed %d events, want %d", before, n, want*2)
		}
	}
	if n, err := s.SweepWorkflowEvents(ctx, epoch.Add(time.Hour), 10); n != 10 || err != nil {
		t.Errorf("a sweep of 10 removed %d, %v", n, err)
	}
	s.reads(store.WorkflowEventQuery{Execution: "wex_1", Limit: 1000}, 109, 12)
	if _, err := s.SweepWorkflowEvents(ctx, epoch, 0); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a sweep without a limit gave %v", err)
	}
	racingAppends(t, s)
}

// racingAppends: of many writers of one number one adds it.
func racingAppends(t *testing.T, s *fixture) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	added := map[int64]int{}
	for range 10 {
		all.Go(func() {
			for seq := int64(1); seq <= 10; seq++ {
				got, err := s.AppendWorkflowEvents(t.Context(), []store.WorkflowEvent{workflowEvent("wex_3", seq)})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				added[seq] += len(got)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for seq := int64(1); seq <= 10; seq++ {
		if added[seq] != 1 {
			t.Errorf("event %d was added %d times", seq, added[seq])
		}
	}
}

// appends checks how many events are new, and that those are told.
func (f *fixture) appends(events []store.WorkflowEvent, want int) {
	f.t.Helper()
	added, err := f.AppendWorkflowEvents(f.t.Context(), events)
	f.must(err)
	inOrder := slices.IsSortedFunc(added, func(a, b store.WorkflowEvent) int { return int(a.Seq - b.Seq) })
	if len(added) != want || !inOrder {
		f.t.Errorf("%d of %d events were added, want %d, in their order", len(added), len(events), want)
	}
}

// reads checks how many events a query finds and where they begin.
func (f *fixture) reads(q store.WorkflowEventQuery, want int, first int64) []store.WorkflowEvent {
	f.t.Helper()
	all, err := f.WorkflowEvents(f.t.Context(), q)
	f.must(err)
	if len(all) != want || want > 0 && all[0].Seq != first || !slices.IsSortedFunc(all, func(a, b store.WorkflowEvent) int { return int(a.Seq - b.Seq) }) {
		f.t.Errorf("%+v finds %d events, want %d from %d on", q, len(all), want, first)
	}
	return all
}
