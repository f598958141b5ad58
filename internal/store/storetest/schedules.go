package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

func scheduleRun(schedule string, n int, state store.RunState) store.ScheduleRun {
	at := epoch.Add(time.Duration(n) * time.Hour)
	return store.ScheduleRun{Schedule: schedule, ID: fmt.Sprintf("run%d", n), Org: "default", DueAt: at, State: state, UpdatedAt: at}
}

// schedules: what a schedule did; a run that is over is never changed.
func schedules(t *testing.T, open Open) {
	s := setup(t, open)
	ctx := t.Context()
	first := scheduleRun("sch_1", 1, store.RunPending)
	s.upserts(first, true)
	first.State, first.Target = store.RunStarted, "ses_1"
	s.upserts(first, true)
	for i, end := range []store.RunState{store.RunCompleted, store.RunFailed, store.RunCancelled, store.RunSkipped} {
		r := scheduleRun("sch_1", i+2, end)
		r.Detail = "as it ended"
		s.upserts(r, true)
		for _, state := range []store.RunState{store.RunPending, store.RunCompleted, store.RunFailed} {
			again := r
			again.State, again.Detail, again.DueAt = state, "changed", epoch.Add(time.Hour*1000)
			s.upserts(again, false)
		}
	}
	runs := s.runs("sch_1", 10, "run5", "run4", "run3", "run2", "run1")
	if r := runs[0]; r.State != store.RunSkipped || r.Detail != "as it ended" || !r.DueAt.Equal(epoch.Add(5*time.Hour)) {
		t.Errorf("a run that was over became %+v", r)
	}
	if r := runs[4]; r != first {
		t.Errorf("the run that goes on is %+v, want %+v", r, first)
	}
	s.runs("sch_1", 2, "run5", "run4")
	if err := second(s.UpsertScheduleRun(ctx, scheduleRun("sch_1", 9, "resting"))); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("an unknown state gave %v", err)
	}
	endsLatest(t, s)
	prunes(t, s)
}

// endsLatest: only a schedule's latest run, and only when it is not over.
func endsLatest(t *testing.T, s *fixture) {
	t.Helper()
	ctx := t.Context()
	end := func(schedule string, want bool) {
		t.Helper()
		ended, err := s.EndLatestScheduleRun(ctx, schedule, store.RunFailed, "its target is gone", epoch.Add(time.Minute))
		s.must(err)
		if ended != want {
			t.Errorf("the end of the latest run of %s: %v, want %v", schedule, ended, want)
		}
	}
	end("sch_1", false) // its latest is over, although an older one is not
	end("sch_none", false)
	s.upserts(scheduleRun("sch_1", 6, store.RunStarted), true)
	end("sch_1", true)
	end("sch_1", false)
	if r := s.runs("sch_1", 1, "run6")[0]; r.State != store.RunFailed || r.Detail != "its target is gone" || !r.UpdatedAt.Equal(epoch.Add(time.Minute)) {
		t.Errorf("the ended run is %+v", r)
	}
	if _, err := s.EndLatestScheduleRun(ctx, "sch_1", store.RunStarted, "", epoch); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("an end that is none gave %v", err)
	}
}

func prunes(t *testing.T, s *fixture) {
	t.Helper()
	ctx := t.Context()
	s.upserts(scheduleRun("sch_2", 1, store.RunStarted), true)
	n, err := s.PruneScheduleRuns(ctx, epoch.Add(4*time.Hour)) // run2, run3 and run6, which ended at the first minute
	s.must(err)
	if n != 3 {
		t.Errorf("%d runs were pruned, want 3", n)
	}
	s.runs("sch_1", 10, "run5", "run4", "run1")
	n, err = s.DeleteScheduleRuns(ctx, "sch_1")
	s.must(err)
	if n != 3 {
		t.Errorf("%d runs were deleted, want 3", n)
	}
	s.runs("sch_1", 10)
	s.runs("sch_2", 10, "run1")
}

// upserts checks whether a run is written.
func (f *fixture) upserts(r store.ScheduleRun, want bool) {
	f.t.Helper()
	written, err := f.UpsertScheduleRun(f.t.Context(), r)
	f.must(err)
	if written != want {
		f.t.Errorf("%s of %s as %s: written %v, want %v", r.ID, r.Schedule, r.State, written, want)
	}
}

// runs checks which runs a schedule has, the latest first.
func (f *fixture) runs(schedule string, limit int, want ...string) []store.ScheduleRun {
	f.t.Helper()
	all, err := f.ScheduleRuns(f.t.Context(), schedule, limit)
	f.must(err)
	var got []string
	for _, r := range all {
		got = append(got, r.ID)
	}
	if !slices.Equal(got, want) {
		f.t.Fatalf("the runs of %s are %v, want %v", schedule, got, want)
	}
	return all
}
