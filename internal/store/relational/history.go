package relational

import (
	"context"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// The rows of a history are never changed. A compaction writes its items behind them and
// moves the place from which on they are read.

// Compact replaces the session's history.
func (s *Store) Compact(ctx context.Context, f store.Fence, c store.Compaction) error {
	if len(c.History) == 0 {
		return fault.New(fault.Internal, "HISTORY_EMPTY", "a history cannot be replaced by nothing")
	}
	return s.fenced(ctx, "compact", f, c.Events, func(t *txn, x *execution) error {
		w, err := t.settleDispatch(x, store.Response{Number: c.Number, Usage: c.Usage, Now: c.Now})
		if err != nil {
			return err
		}
		if err := t.addUsage(x, c.Usage); err != nil {
			return err
		}
		if err := t.recovered(x, store.Recoveries{}); err != nil {
			return err
		}
		if err := t.Exec("UPDATE sessions SET history_start = history_len + 1, history_kept = ?, used_tokens = 0, used_to = 0 WHERE id = ?", len(c.History), x.session); err != nil {
			return err
		}
		for _, item := range c.History {
			if err := t.addItem(x, item); err != nil {
				return err
			}
		}
		if err := t.appendEvents(f, eventv1.Association_current, c.Events); err != nil {
			return err
		}
		return t.charge(f, w, c.Usage, c.Now)
	})
}

// history reads the history that the model is shown.
func (t *txn) history(session string, c *store.Claimed) error {
	var start, kept, usedTo int64
	if err := t.Row("SELECT history_start, history_kept, used_tokens, used_to FROM sessions WHERE id = ?", session).
		Scan(&start, &kept, &c.Shown.Tokens, &usedTo); err != nil {
		return err
	}
	c.Shown.Kept = int(kept)
	if err := t.Rows(func(r sqldb.Scanner) error {
		var position int64
		var data []byte
		if err := r.Scan(&position, &data); err != nil {
			return err
		}
		item := &messagev1.Item{}
		c.History = append(c.History, item)
		if position <= usedTo {
			c.Shown.Counted = len(c.History)
		}
		return proto.Unmarshal(data, item)
	}, "SELECT position, item FROM history WHERE session = ? AND position >= ? ORDER BY position", session, start); err != nil || kept == 0 {
		return err
	}
	return t.Rows(func(r sqldb.Scanner) error {
		var call string
		if err := r.Scan(&call); err != nil {
			return err
		}
		c.Shown.Taken = append(c.Shown.Taken, call)
		return nil
	}, "SELECT call_id FROM tool_calls WHERE execution IN (SELECT id FROM executions WHERE session = ?) ORDER BY call_id", session)
}
