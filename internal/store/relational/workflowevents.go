package relational

import (
	"context"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

const workflowEventColumns = "execution, seq, type, task, data, created_at"

// AppendWorkflowEvents adds events and skips those that are there.
func (s *Store) AppendWorkflowEvents(ctx context.Context, events []store.WorkflowEvent) ([]store.WorkflowEvent, error) {
	var added []store.WorkflowEvent
	err := s.do(ctx, "append_workflow_events", "", func(t *txn) error {
		added = nil
		for _, e := range events {
			n, err := t.Affect("INSERT INTO workflow_execution_events ("+workflowEventColumns+") VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING",
				e.Execution, e.Seq, e.Type, e.Task, notNull(e.Data), sqldb.Stamp(e.CreatedAt))
			if err != nil {
				return err
			}
			if n > 0 {
				added = append(added, e)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return added, nil
}

// WorkflowEvents reads a part of a log.
func (s *Store) WorkflowEvents(ctx context.Context, q store.WorkflowEventQuery) ([]store.WorkflowEvent, error) {
	where, args := "execution = ? AND seq > ?", []any{q.Execution, q.After}
	if q.Task != "" {
		where, args = where+" AND task = ?", append(args, q.Task)
	}
	if len(q.Types) > 0 {
		where += " AND type IN (?" + strings.Repeat(", ?", len(q.Types)-1) + ")"
		for _, t := range q.Types {
			args = append(args, t)
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = store.WorkflowEventsPage
	}
	var all []store.WorkflowEvent
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		var e store.WorkflowEvent
		var at string
		err := r.Scan(&e.Execution, &e.Seq, &e.Type, &e.Task, &e.Data, &at)
		e.CreatedAt = sqldb.Unstamp(at)
		all = append(all, e)
		return err
	}, "SELECT "+workflowEventColumns+" FROM workflow_execution_events WHERE "+where+" ORDER BY seq LIMIT ?", append(args, limit)...)
	return all, err
}

// LastWorkflowEvent is the greatest seq of a log.
func (s *Store) LastWorkflowEvent(ctx context.Context, execution string) (seq int64, err error) {
	err = s.db.Read(ctx).Row("SELECT COALESCE(max(seq), 0) FROM workflow_execution_events WHERE execution = ?", execution).Scan(&seq)
	return seq, err
}

// SweepWorkflowEvents removes old events, the oldest first.
func (s *Store) SweepWorkflowEvents(ctx context.Context, before time.Time, limit int) (n int64, err error) {
	if limit <= 0 {
		return 0, badQuery("old events with the limit %d", limit)
	}
	err = s.do(ctx, "sweep_workflow_events", "", func(t *txn) error {
		n, err = t.Affect(`DELETE FROM workflow_execution_events WHERE (execution, seq) IN
			(SELECT execution, seq FROM workflow_execution_events WHERE created_at < ? ORDER BY created_at LIMIT ?)`, sqldb.Stamp(before), limit)
		return err
	})
	return n, err
}
