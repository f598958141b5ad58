package relational

import (
	"context"
	"errors"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// CreateSession stores a session without an input.
func (s *Store) CreateSession(ctx context.Context, n store.NewSession, once *store.Once) error {
	return s.do(ctx, "create_session", n.Row.ID, func(t *txn) error {
		if err := t.once(once); err != nil {
			return err
		}
		if err := t.insertSession(n); err != nil {
			return err
		}
		return t.keep(once)
	})
}

func (t *txn) insertSession(n store.NewSession) error {
	if err := t.insertRow(n.Row); err != nil {
		return err
	}
	if err := t.Exec("INSERT INTO sessions (id, org, root, depth, workspace, reject) VALUES (?,?,?,?,?,?)",
		n.Row.ID, n.Row.Org, n.Root, n.Depth, n.Workspace, n.Reject); err != nil {
		return err
	}
	if n.Budget != nil {
		if err := t.putBudget(*n.Budget); err != nil {
			return err
		}
	}
	return t.appendEvents(store.Fence{Session: n.Row.ID}, eventv1.Association_current, n.Events)
}

// Accept makes an input durable with all that belongs to it.
func (s *Store) Accept(ctx context.Context, a store.Accept) (revision int64, err error) {
	err = s.do(ctx, "accept", target(a), func(t *txn) error {
		if err := t.once(a.Once); err != nil {
			return err
		}
		if a.New != nil {
			a.Session = a.New.Row.ID
			if err := t.insertSession(*a.New); err != nil {
				return err
			}
		}
		if err := t.admitInput(a); err != nil {
			return err
		}
		if err := t.enqueue(a); err != nil {
			return err
		}
		if err := t.Row("SELECT revision FROM sessions WHERE id = ?", a.Session).Scan(&revision); err != nil {
			return err
		}
		return t.keep(a.Once)
	})
	return revision, err
}

// target is the session that an input goes to.
func target(a store.Accept) string {
	if a.New != nil {
		return a.New.Row.ID
	}
	return a.Session
}

// admitInput checks the session's policy and that nobody else works in its folder.
func (t *txn) admitInput(a store.Accept) error {
	var workspace, active string
	var reject bool
	var open int
	if err := t.Row("SELECT workspace, reject, active, open FROM sessions WHERE id = ?", a.Session).Scan(&workspace, &reject, &active, &open); err != nil {
		return sessionMissing(err, a.Session)
	}
	if open > 0 {
		closed, err := t.closeUnknown(a.Session, a.Now)
		if err != nil {
			return err
		}
		if reject && !closed {
			return fault.New(fault.FailedPrecondition, "SESSION_BUSY",
				"session %s works on %s and its input policy refuses inputs meanwhile; wait, or cancel it", a.Session, active).With("session", a.Session).With("execution", active)
		}
	}
	if open > 0 {
		return nil // the session holds its folder already
	}
	return t.folderFree(a.Session, workspace)
}

func (t *txn) enqueue(a store.Accept) error {
	input, err := encode(a.Input.Item)
	if err != nil {
		return fault.From(err)
	}
	if err := t.insertRow(a.Execution); err != nil {
		return err
	}
	var position, open int64
	if err := t.Row("UPDATE sessions SET positions = positions + 1, open = open + 1 WHERE id = ? RETURNING positions, open", a.Session).Scan(&position, &open); err != nil {
		return err
	}
	if err := t.Exec("INSERT INTO executions (id, session, position, state, input_id, input) VALUES (?,?,?,'queued',?,?)",
		a.Execution.ID, a.Session, position, a.Input.ID, input); err != nil {
		return err
	}
	if err := t.appendEvents(store.Fence{Session: a.Session, Execution: a.Execution.ID}, eventv1.Association_current, a.Events); err != nil {
		return err
	}
	if open == 1 {
		if err := t.sessionPhase(a.Session, sessionv1.SessionPhase_running, a.Execution.ID, "", a.Now); err != nil {
			return err
		}
	}
	return t.wake(a.Session, a.Now)
}

// wake raises the revision and opens the outbox row.
func (t *txn) wake(session string, now time.Time) error {
	var revision int64
	if err := t.Row("UPDATE sessions SET revision = revision + 1 WHERE id = ? RETURNING revision", session).Scan(&revision); err != nil {
		return sessionMissing(err, session)
	}
	return t.Exec(`INSERT INTO outbox (session, revision, created_at) VALUES (?,?,?)
		ON CONFLICT (session) DO UPDATE SET revision = excluded.revision`, session, revision, sqldb.Stamp(now))
}

// errSame says that a change would change nothing.
var errSame = errors.New("the row stays as it is")

// sessionPhase writes a session's phase into its row and log, when it changed.
func (t *txn) sessionPhase(session string, phase sessionv1.SessionPhase, active, waiting string, now time.Time) error {
	changed := false
	_, err := t.change(resourcev1.ResourceKind_session, session, func(row store.Row) (store.Row, error) {
		same := false
		row, err := store.ChangeSession(row, func(st *sessionv1.SessionStatus) {
			changed = st.Phase != phase || st.WaitingFor != waiting
			same = !changed && st.ActiveExecutionId == active
			st.Phase, st.ActiveExecutionId, st.WaitingFor = phase, active, waiting
		})
		if err == nil && same {
			err = errSame
		}
		return row, err
	})
	if errors.Is(err, errSame) {
		return nil
	}
	if err != nil || !changed {
		return err
	}
	return t.appendEvents(store.Fence{Session: session}, eventv1.Association_current,
		[]*eventv1.Event{store.StatusChanged(phase, waiting, now)})
}

// closeUnknown completes a turn that waits for a person's word on an unknown
// outcome: the next input is that word.
func (t *txn) closeUnknown(session string, now time.Time) (bool, error) {
	var id string
	err := t.Row("SELECT id FROM executions WHERE session = ? AND state = 'waiting' AND waiting_for = ?", session, store.WaitOutcomeUnknown).Scan(&id)
	if noRows(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	x, err := t.execution(id)
	if err != nil {
		return false, err
	}
	if err := t.closeCalls(x, unknownCall("The person has seen that and goes on.")); err != nil {
		return false, err
	}
	err = t.endExecution(x, ending{
		phase: agentexecutionv1.ExecutionPhase_completed, segmentLimit: store.WaitOutcomeUnknown, now: now,
		events: []*eventv1.Event{store.Completed(store.WaitOutcomeUnknown, x.totals(), now)},
	})
	return err == nil, err
}
