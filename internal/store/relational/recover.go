package relational

import (
	"context"
	"slices"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// Recover lets a waiting or a failed execution go on.
func (s *Store) Recover(ctx context.Context, r store.RecoverRequest) (store.RecoverAnswer, error) {
	var out store.RecoverAnswer
	err := s.do(ctx, "recover", r.Session, func(t *txn) error {
		if err := t.once(r.Once); err != nil {
			return err
		}
		x, waitedFor, err := t.recoverable(r)
		if err != nil {
			return err
		}
		if x.state == "failed" {
			err = t.reviveFailed(x)
		} else {
			err = t.endWait(x, waitedFor)
		}
		if err != nil {
			return err
		}
		if err := t.reopen(x, waitedFor, r); err != nil {
			return err
		}
		if out.Execution, err = t.getRow(resourcev1.ResourceKind_agent_execution, x.id); err != nil {
			return err
		}
		if err := t.Row("SELECT revision FROM sessions WHERE id = ?", x.session).Scan(&out.Revision); err != nil {
			return err
		}
		if r.Found != nil {
			if err := r.Found(out.Execution); err != nil {
				return err
			}
		}
		return t.keep(r.Once)
	})
	return out, err
}

// recoverable finds the execution that a request means and checks that it may go on.
func (t *txn) recoverable(r store.RecoverRequest) (x *execution, waitedFor string, err error) {
	var id string
	err = t.Row(`SELECT id, waiting_for FROM executions WHERE session = ? AND (? = '' OR id = ?)
		ORDER BY state = 'waiting' DESC, position DESC LIMIT 1`, r.Session, r.Execution, r.Execution).Scan(&id, &waitedFor)
	if noRows(err) {
		return nil, "", store.ErrNotRecoverable.Saying("session %s has no turn to recover", r.Session)
	}
	if err != nil {
		return nil, "", err
	}
	if x, err = t.execution(id); err != nil {
		return nil, "", err
	}
	if x.state != "waiting" && x.state != "failed" {
		if x.state == "queued" || x.state == "running" {
			return nil, "", store.ErrNotRecoverable.Saying("execution %s is %s: it goes on by itself; `cadre attach %s` shows it", id, x.state, x.session).With("execution", id)
		}
		return nil, "", store.ErrNotRecoverable.Saying("execution %s is %s: only a waiting or a failed one can be recovered", id, x.state).With("execution", id)
	}
	return x, waitedFor, nil
}

// unknownCall is what the history says of a call whose outcome nobody knows, and
// of those behind it that were not made.
func unknownCall(then string) func(store.PendingTool) string {
	return func(c store.PendingTool) string {
		if mayHaveRun(c) {
			return "It is not known whether this call took effect: what ran it ended before its outcome was recorded. It was not run again. " + then
		}
		return "This call was not made."
	}
}

// endWait ends what a waiting execution waits for: its timer, or the call whose
// outcome is unknown. Calls behind that one are still to be made.
func (t *txn) endWait(x *execution, waitedFor string) error {
	if err := t.Exec("DELETE FROM timers WHERE session = ? AND name = ?", x.session, waitedFor); err != nil {
		return err
	}
	if waitedFor != store.WaitOutcomeUnknown {
		return nil
	}
	open, err := t.pending(x.id)
	if err != nil {
		return err
	}
	var unknown []store.PendingTool
	for _, p := range open {
		if mayHaveRun(p) {
			unknown = append(unknown, p)
		}
	}
	return t.closeThese(x, unknown, unknownCall("Look at what it did before you go on."))
}

// reviveFailed opens a failed execution again, which must be its session's newest.
func (t *txn) reviveFailed(x *execution) error {
	var newest, workspace string
	var open int
	if err := t.Row(`SELECT s.open, s.workspace, (SELECT id FROM executions WHERE session = s.id ORDER BY position DESC LIMIT 1)
		FROM sessions s WHERE s.id = ?`, x.session).Scan(&open, &workspace, &newest); err != nil {
		return sessionMissing(err, x.session)
	}
	if newest != x.id || open > 0 {
		return store.ErrNotRecoverable.Saying("session %s went on after execution %s failed: send a message instead", x.session, x.id).With("execution", x.id)
	}
	if err := t.folderFree(x.session, workspace); err != nil {
		return err
	}
	return t.Exec("UPDATE sessions SET open = open + 1 WHERE id = ?", x.session)
}

// reopen makes an execution claimable again and says so.
func (t *txn) reopen(x *execution, waitedFor string, r store.RecoverRequest) error {
	reason := waitedFor
	if reason == "" {
		reason = x.state
	}
	if err := t.Exec("UPDATE executions SET redispatches = 0, started_at = '' WHERE id = ?", x.id); err != nil {
		return err
	}
	if err := t.recovered(x, store.Recoveries{}); err != nil {
		return err
	}
	events := []*eventv1.Event{event.New(r.Now, &eventv1.TurnReopened{Reason: reason, By: r.By})}
	if err := t.appendEvents(x.fence(), eventv1.Association_current, events); err != nil {
		return err
	}
	if err := t.requeue(x); err != nil {
		return err
	}
	if err := t.sessionPhase(x.session, sessionv1.SessionPhase_running, x.id, "", r.Now); err != nil {
		return err
	}
	return t.wake(x.session, r.Now)
}

// Disown closes the attempts of processes that are gone.
func (s *Store) Disown(ctx context.Context, boot, node string, now time.Time) ([]store.LiveAttempt, error) {
	live, err := s.LiveAttempts(ctx)
	if err != nil {
		return nil, err
	}
	live = slices.DeleteFunc(live, func(a store.LiveAttempt) bool {
		return a.BootEpoch == boot || node != "" && a.Node != node
	})
	if len(live) == 0 {
		return nil, nil
	}
	for _, a := range live {
		if err := s.do(ctx, "disown", a.Session, func(t *txn) error { return t.disown(a, now) }); err != nil {
			return nil, err
		}
	}
	return live, nil
}

func (t *txn) disown(a store.LiveAttempt, now time.Time) error {
	x, err := t.execution(a.Execution)
	if err != nil {
		return err
	}
	if x.attempt != a.Attempt || x.state != "running" {
		return nil // it was closed meanwhile
	}
	if err := t.closeAttempt(a.Attempt, "lost", now); err != nil {
		return err
	}
	if err := t.settleHolds(x, now); err != nil { // nobody waits for answers that never come
		return err
	}
	if !x.cancelled { // a cancelled one waits for its settlement
		if err := t.requeue(x); err != nil {
			return err
		}
	}
	return t.wake(x.session, now)
}

// requeue gives an execution to the next claim: nobody owns it until then.
func (t *txn) requeue(x *execution) error {
	if err := t.Exec("UPDATE executions SET state = 'queued', waiting_for = '' WHERE id = ?", x.id); err != nil {
		return err
	}
	return t.executionStatus(x, func(st *agentexecutionv1.AgentExecutionStatus) {
		st.Phase, st.WaitingFor, st.WaitingUntil = agentexecutionv1.ExecutionPhase_queued, "", nil
		st.Error, st.EndedAt = nil, nil
	})
}

// consumeTimers takes the timers that are due and lets go on what waits for them.
func (s *Store) consumeTimers(ctx context.Context, session string, now time.Time) error {
	return s.do(ctx, "consume_timers", session, func(t *txn) error {
		var due []string
		if err := t.Rows(func(r sqldb.Scanner) error {
			var id string
			err := r.Scan(&id)
			due = append(due, id)
			return err
		}, `SELECT x.id FROM executions x JOIN timers m ON m.session = x.session AND m.name = x.waiting_for
			WHERE x.session = ? AND x.state = 'waiting' AND m.due_at <= ?`, session, sqldb.Stamp(now)); err != nil {
			return err
		}
		for _, id := range due {
			x, err := t.execution(id)
			if err != nil {
				return err
			}
			if err := t.requeue(x); err != nil {
				return err
			}
			if err := t.sessionPhase(session, sessionv1.SessionPhase_running, id, "", now); err != nil {
				return err
			}
		}
		return t.Exec("DELETE FROM timers WHERE session = ? AND due_at <= ?", session, sqldb.Stamp(now))
	})
}

// folderFree refuses when another session works in a folder.
func (t *txn) folderFree(session, workspace string) error {
	if workspace == "" {
		return nil
	}
	if err := t.lock("workspaces"); err != nil { // two sessions that begin at once see one another
		return err
	}
	return t.Rows(func(r sqldb.Scanner) error {
		var other, folder string
		if err := r.Scan(&other, &folder); err != nil {
			return err
		}
		if store.FoldersOverlap(workspace, folder) {
			return store.Held(workspace, folder, other)
		}
		return nil
	}, "SELECT id, workspace FROM sessions WHERE open > 0 AND workspace <> '' AND id <> ?", session)
}
