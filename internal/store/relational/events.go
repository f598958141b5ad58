package relational

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// appendEvents numbers events and stores them.
func (t *txn) appendEvents(f store.Fence, association eventv1.Association, events []*eventv1.Event) error {
	if len(events) == 0 {
		return nil
	}
	n := len(events)
	root, depth, seq, treeSeq, err := t.number(f.Session, n)
	if err != nil {
		return err
	}
	for i, e := range events {
		e.SessionId, e.RootId, e.Depth = f.Session, root, depth
		e.Seq, e.TreeSeq = seq+int64(i)+1, treeSeq+int64(i)+1
		if e.ExecutionId == "" {
			e.ExecutionId, e.AttemptId, e.Generation = f.Execution, f.Attempt, f.Generation
		}
		e.Association = association
		data, err := encode(e)
		if err != nil {
			return fault.From(err)
		}
		if err := t.Exec("INSERT INTO events (session, seq, root, tree_seq, depth, type, data) VALUES (?,?,?,?,?,?,?)",
			f.Session, e.Seq, root, e.TreeSeq, depth, e.Type, data); err != nil {
			return err
		}
	}
	t.Emit(events)
	return nil
}

// number reserves n places in the log of a session and in the log of its tree,
// and answers the places before them. The root is its own tree's counter.
func (t *txn) number(session string, n int) (root string, depth int32, seq, treeSeq int64, err error) {
	err = t.Row(`UPDATE sessions SET last_seq = last_seq + ?, tree_seq = tree_seq + (CASE WHEN root = id THEN CAST(? AS BIGINT) ELSE 0 END)
		WHERE id = ? RETURNING root, depth, last_seq, tree_seq`, n, n, session).Scan(&root, &depth, &seq, &treeSeq)
	if err != nil {
		return "", 0, 0, 0, sessionMissing(err, session)
	}
	if root != session {
		if err := t.Row("UPDATE sessions SET tree_seq = tree_seq + ? WHERE id = ? RETURNING tree_seq", n, root).Scan(&treeSeq); err != nil {
			return "", 0, 0, 0, err
		}
	}
	return root, depth, seq - int64(n), treeSeq - int64(n), nil
}

func sessionMissing(err error, id string) error {
	if noRows(err) {
		return resource.NotFound(resourcev1.ResourceKind_session, id)
	}
	return err
}

// Events reads a part of a log in order.
func (s *Store) Events(ctx context.Context, q store.EventQuery) ([]*eventv1.Event, error) {
	var sql strings.Builder
	args := []any{q.Session, q.After}
	if q.Tree {
		sql.WriteString("SELECT data FROM events WHERE root = ? AND tree_seq > ?")
		if q.MaxDepth >= 0 {
			sql.WriteString(" AND depth <= ?")
			args = append(args, q.MaxDepth)
		}
	} else {
		sql.WriteString("SELECT data FROM events WHERE session = ? AND seq > ?")
	}
	args = appendTypes(&sql, args, q.Types)
	sql.WriteString([]string{" ORDER BY seq LIMIT ?", " ORDER BY tree_seq LIMIT ?"}[btoi(q.Tree)])
	args = append(args, q.Limit)

	events := make([]*eventv1.Event, 0, min(q.Limit, 256))
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		var data []byte
		if err := r.Scan(&data); err != nil {
			return err
		}
		e := &eventv1.Event{}
		events = append(events, e)
		return proto.Unmarshal(data, e)
	}, sql.String(), args...)
	return events, err
}

func appendTypes(sql *strings.Builder, args []any, types []string) []any {
	for i, name := range types {
		sql.WriteString([]string{" OR ", " AND ("}[btoi(i == 0)])
		if family, ok := strings.CutSuffix(name, "*"); ok {
			// The range holds every name that begins with the family, and can use an index.
			sql.WriteString("(type >= ? AND type < ?)")
			args = append(args, family, family+"\U0010FFFF")
		} else {
			sql.WriteString("type = ?")
			args = append(args, name)
		}
	}
	if len(types) > 0 {
		sql.WriteString(")")
	}
	return args
}

// Session reads a session's ledger row.
func (s *Store) Session(ctx context.Context, id string) (store.SessionState, error) {
	st := store.SessionState{ID: id}
	err := s.db.Read(ctx).Row(`SELECT s.org, s.root, s.depth, s.revision, s.last_seq, r.tree_seq, s.active, s.open, s.workspace, s.removed_seq, r.removed_tree
		FROM sessions s JOIN sessions r ON r.id = s.root WHERE s.id = ?`, id).
		Scan(&st.Org, &st.Root, &st.Depth, &st.Revision, &st.LastSeq, &st.TreeSeq, &st.Active, &st.Open, &st.Workspace, &st.Removed, &st.RemovedTree)
	if err != nil {
		return st, sessionMissing(err, id)
	}
	return st, nil
}

// Open lists sessions with unsettled work.
func (s *Store) Open(ctx context.Context, after string, limit int) ([]store.Nudge, error) {
	return s.nudges(ctx, `SELECT id, revision FROM sessions WHERE id IN (
			SELECT session FROM outbox UNION SELECT id FROM sessions WHERE open > 0 UNION SELECT session FROM timers
		) AND id > ? ORDER BY id LIMIT ?`, after, limit)
}

// Stale lists sessions whose wake-up seems lost, or whose timer is due.
func (s *Store) Stale(ctx context.Context, before, now time.Time, limit int) ([]store.Nudge, error) {
	return s.nudges(ctx, `SELECT id, revision FROM sessions WHERE id IN (
			SELECT session FROM outbox WHERE created_at < ? UNION SELECT session FROM timers WHERE due_at <= ?
		) ORDER BY id LIMIT ?`, sqldb.Stamp(before), sqldb.Stamp(now), limit)
}

func (s *Store) nudges(ctx context.Context, q string, args ...any) ([]store.Nudge, error) {
	var all []store.Nudge
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		var n store.Nudge
		err := r.Scan(&n.Session, &n.Revision)
		all = append(all, n)
		return err
	}, q, args...)
	return all, err
}

// EngineID reads the engine that this ledger's wake-ups went to.
func (s *Store) EngineID(ctx context.Context) (string, error) { return s.BootState(ctx, "engine_id") }

// SetEngineID writes it.
func (s *Store) SetEngineID(ctx context.Context, id string) error {
	return s.SetBootState(ctx, "engine_id", id)
}

// SetTimer sets, moves or removes a timer.
func (s *Store) SetTimer(ctx context.Context, session, name string, due time.Time) error {
	return s.do(ctx, "timer", session, func(t *txn) error {
		if due.IsZero() {
			return t.Exec("DELETE FROM timers WHERE session = ? AND name = ?", session, name)
		}
		if err := t.setTimer(session, name, due); err != nil {
			return err
		}
		return t.wake(session, time.Time{})
	})
}

func (t *txn) setTimer(session, name string, due time.Time) error {
	return t.Exec(`INSERT INTO timers (session, name, due_at) VALUES (?,?,?)
		ON CONFLICT (session, name) DO UPDATE SET due_at = excluded.due_at`, session, name, sqldb.Stamp(due))
}
