package relational

import (
	"context"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

const readGoal = "SELECT text, version, status, reason, rationale, evidence, updated_at FROM goals WHERE session = ?"

// SetGoal gives a session a goal.
func (s *Store) SetGoal(ctx context.Context, c store.GoalChange) (store.Goal, error) {
	var out store.Goal
	err := s.do(ctx, "set_goal", c.Session, func(t *txn) error {
		if err := t.once(c.Once); err != nil {
			return err
		}
		var one int
		if err := t.Row("SELECT 1 FROM sessions WHERE id = ?", c.Session).Scan(&one); err != nil {
			return sessionMissing(err, c.Session)
		}
		if err := t.Exec(`INSERT INTO goals (session, text, version, status, updated_at) VALUES (?,?,1,?,?) ON CONFLICT (session) DO UPDATE SET
			text = excluded.text, version = goals.version + 1, status = excluded.status, reason = '', rationale = '', evidence = '', updated_at = excluded.updated_at`,
			c.Session, c.Text, string(store.GoalActive), sqldb.Stamp(c.Now)); err != nil {
			return err
		}
		var err error
		if out, err = goal(t, c.Session); err != nil {
			return err
		}
		set := event.New(c.Now, &eventv1.GoalSet{Text: out.Text, Version: out.Version, By: c.By})
		if err := t.appendEvents(store.Fence{Session: c.Session}, eventv1.Association_current, []*eventv1.Event{set}); err != nil {
			return err
		}
		if c.Found != nil {
			c.Found(out)
		}
		return t.keep(c.Once)
	})
	return out, err
}

// Goal reads a session's.
func (s *Store) Goal(ctx context.Context, session string) (store.Goal, error) {
	g, err := goal(s.db.Read(ctx), session)
	if err == nil && g.Version == 0 {
		err = store.ErrNoGoal
	}
	return g, err
}

// goal reads a session's; its version is 0 when it has none.
func goal(q sqldb.Querier, session string) (store.Goal, error) {
	g := store.Goal{Session: session}
	var status, updated string
	err := q.Row(readGoal, session).Scan(&g.Text, &g.Version, &status, &g.Reason, &g.Rationale, &g.Evidence, &updated)
	if noRows(err) {
		return store.Goal{}, nil
	}
	g.Status, g.UpdatedAt = store.GoalStatus(status), sqldb.Unstamp(updated)
	return g, err
}

// CompleteGoal completes the goal that a running turn works towards.
func (s *Store) CompleteGoal(ctx context.Context, f store.Fence, version int64, evidence string, now time.Time) (bool, error) {
	done := false
	err := s.fenced(ctx, "complete_goal", f, nil, func(t *txn, x *execution) error {
		g, err := goal(t, x.session)
		if err != nil {
			return err
		}
		if done = g.Status == store.GoalCompleted && g.Version == version+1; done {
			return nil // by this very call, before a crash
		}
		if done = g.Status == store.GoalActive && g.Version == version; !done {
			return nil
		}
		if err := t.Exec("UPDATE goals SET status = ?, version = version + 1, evidence = ?, updated_at = ? WHERE session = ?",
			string(store.GoalCompleted), evidence, sqldb.Stamp(now), x.session); err != nil {
			return err
		}
		completed := event.New(now, &eventv1.GoalCompleted{Version: version + 1, Evidence: evidence})
		return t.appendEvents(f, eventv1.Association_current, []*eventv1.Event{completed})
	})
	return done, err
}

// pauseGoal pauses the session's goal, when it is active.
func (t *txn) pauseGoal(x *execution, p *store.GoalPause, now time.Time) error {
	if p == nil {
		return nil
	}
	var version int64
	err := t.Row("UPDATE goals SET status = ?, version = version + 1, reason = ?, rationale = ?, updated_at = ? WHERE session = ? AND status = ? RETURNING version",
		string(store.GoalPaused), p.Reason, p.Rationale, sqldb.Stamp(now), x.session, string(store.GoalActive)).Scan(&version)
	if noRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	paused := event.New(now, &eventv1.GoalPaused{Version: version, Reason: p.Reason, Rationale: p.Rationale})
	return t.appendEvents(x.fence(), eventv1.Association_current, []*eventv1.Event{paused})
}
