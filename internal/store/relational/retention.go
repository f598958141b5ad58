package relational

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// Settled lists sessions that rest and whose log was not looked at.
func (s *Store) Settled(ctx context.Context, after string, limit int) ([]store.Settled, error) {
	var all []store.Settled
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		var found store.Settled
		var data []byte
		if err := r.Scan(&found.Session, &found.LastSeq, &data); err != nil {
			return err
		}
		e := &eventv1.Event{}
		if err := proto.Unmarshal(data, e); err != nil {
			return err
		}
		found.Newest = e.GetOccurredAt().AsTime()
		all = append(all, found)
		return nil
	}, `SELECT s.id, s.last_seq, e.data FROM sessions s JOIN events e ON e.session = s.id AND e.seq = s.last_seq
		WHERE s.id > ? AND s.open = 0 AND s.swept_seq < s.last_seq
		AND NOT EXISTS (SELECT 1 FROM outbox WHERE session = s.id) AND NOT EXISTS (SELECT 1 FROM timers WHERE session = s.id)
		ORDER BY s.id LIMIT ?`, after, limit)
	return all, err
}

// Trim removes events and usage of a session that rests.
func (s *Store) Trim(ctx context.Context, r store.Trim) (done bool, err error) {
	err = s.do(ctx, "trim", r.Session, func(t *txn) error {
		done = false
		var root string
		err := t.Row(`SELECT root FROM sessions s WHERE id = ? AND open = 0 AND last_seq = ?
			AND NOT EXISTS (SELECT 1 FROM outbox WHERE session = s.id) AND NOT EXISTS (SELECT 1 FROM timers WHERE session = s.id)`,
			r.Session, r.LastSeq).Scan(&root)
		if noRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		done = true
		if err := t.removeEvents(r, root); err != nil {
			return err
		}
		if r.Usage {
			if err := t.Exec("DELETE FROM dispatches WHERE session = ?", r.Session); err != nil {
				return err
			}
		}
		if r.Swept {
			return t.Exec("UPDATE sessions SET swept_seq = last_seq WHERE id = ?", r.Session)
		}
		return nil
	})
	return done, err
}

// removeEvents removes events and remembers how far, for cursors. The newest event
// stays: it tells the log's age.
func (t *txn) removeEvents(r store.Trim, root string) error {
	var seq, tree int64
	for _, n := range r.Events {
		if n >= r.LastSeq {
			continue
		}
		var at int64
		err := t.Row("DELETE FROM events WHERE session = ? AND seq = ? RETURNING tree_seq", r.Session, n).Scan(&at)
		if noRows(err) {
			continue
		}
		if err != nil {
			return err
		}
		seq, tree = max(seq, n), max(tree, at)
	}
	if seq == 0 {
		return nil
	}
	if err := t.Exec("UPDATE sessions SET removed_seq = ? WHERE id = ? AND removed_seq < ?", seq, r.Session, seq); err != nil {
		return err
	}
	return t.Exec("UPDATE sessions SET removed_tree = ? WHERE id = ? AND removed_tree < ?", tree, root, tree)
}

// TrimUsage removes old model requests of sessions that are no more.
func (s *Store) TrimUsage(ctx context.Context, before time.Time, limit int) (n int64, err error) {
	err = s.do(ctx, "trim_usage", "", func(t *txn) error {
		n, err = t.Affect(`DELETE FROM dispatches WHERE (execution, number) IN (SELECT execution, number FROM dispatches d
			WHERE at < ? AND state <> 'dispatched' AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = d.session) LIMIT ?)`, sqldb.Stamp(before), limit)
		return err
	})
	return n, err
}
