package relational

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

const (
	runColumns = "schedule, id, org, due_at, state, target, detail, updated_at"
	// runOpen finds runs that are not terminal; column names need the table's before them
	// where a statement knows two rows.
	runOpen = "schedule_runs.state IN ('" + string(store.RunPending) + "', '" + string(store.RunStarted) + "')"
)

// UpsertScheduleRun writes a run that is not over.
func (s *Store) UpsertScheduleRun(ctx context.Context, r store.ScheduleRun) (written bool, err error) {
	if !r.State.Terminal() && r.State != store.RunPending && r.State != store.RunStarted {
		return false, badQuery("runs in the state %q", r.State)
	}
	err = s.do(ctx, "schedule_run", "", func(t *txn) error {
		n, err := t.Affect("INSERT INTO schedule_runs ("+runColumns+`) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (schedule, id) DO UPDATE SET
			org = excluded.org, due_at = excluded.due_at, state = excluded.state, target = excluded.target, detail = excluded.detail,
			updated_at = excluded.updated_at WHERE `+runOpen,
			r.Schedule, r.ID, r.Org, sqldb.Stamp(r.DueAt), string(r.State), r.Target, r.Detail, sqldb.Stamp(r.UpdatedAt))
		written = n > 0
		return err
	})
	return written && err == nil, err
}

// EndLatestScheduleRun ends a schedule's latest run.
func (s *Store) EndLatestScheduleRun(ctx context.Context, schedule string, state store.RunState, detail string, now time.Time) (ended bool, err error) {
	if !state.Terminal() {
		return false, badQuery("runs that end as %q", state)
	}
	err = s.do(ctx, "end_schedule_run", "", func(t *txn) error {
		n, err := t.Affect(`UPDATE schedule_runs SET state = ?, detail = ?, updated_at = ? WHERE schedule = ? AND id =
			(SELECT x.id FROM schedule_runs x WHERE x.schedule = ? ORDER BY x.due_at DESC, x.id DESC LIMIT 1) AND `+runOpen,
			string(state), detail, sqldb.Stamp(now), schedule, schedule)
		ended = n > 0
		return err
	})
	return ended && err == nil, err
}

// ScheduleRuns answers a schedule's runs, the latest first.
func (s *Store) ScheduleRuns(ctx context.Context, schedule string, limit int) ([]store.ScheduleRun, error) {
	if limit <= 0 {
		return nil, badQuery("runs with the limit %d", limit)
	}
	var all []store.ScheduleRun
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		var run store.ScheduleRun
		var due, updated, state string
		err := r.Scan(&run.Schedule, &run.ID, &run.Org, &due, &state, &run.Target, &run.Detail, &updated)
		run.DueAt, run.UpdatedAt, run.State = sqldb.Unstamp(due), sqldb.Unstamp(updated), store.RunState(state)
		all = append(all, run)
		return err
	}, "SELECT "+runColumns+" FROM schedule_runs WHERE schedule = ? ORDER BY due_at DESC, id DESC LIMIT ?", schedule, limit)
	return all, err
}

// DeleteScheduleRuns removes a schedule's runs.
func (s *Store) DeleteScheduleRuns(ctx context.Context, schedule string) (int64, error) {
	return s.remove(ctx, "delete_schedule_runs", "DELETE FROM schedule_runs WHERE schedule = ?", schedule)
}

// PruneScheduleRuns removes old runs that are over.
func (s *Store) PruneScheduleRuns(ctx context.Context, before time.Time) (int64, error) {
	return s.remove(ctx, "prune_schedule_runs", "DELETE FROM schedule_runs WHERE updated_at < ? AND NOT ("+runOpen+")", sqldb.Stamp(before))
}

// remove runs one statement in a transaction and counts the rows that it changed.
func (s *Store) remove(ctx context.Context, name, q string, args ...any) (n int64, err error) {
	err = s.do(ctx, name, "", func(t *txn) error {
		n, err = t.Affect(q, args...)
		return err
	})
	return n, err
}
