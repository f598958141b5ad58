package relational

import (
	"context"
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// Settle ends an execution.
func (s *Store) Settle(ctx context.Context, f store.Fence, st store.Settlement) error {
	late := false
	err := s.do(ctx, "settle", f.Session, func(t *txn) error {
		late = false
		x, err := t.execution(f.Execution)
		if err != nil {
			return err
		}
		events := st.Events(x.totals())
		if x, err = t.owned(f, events); err != nil || x == nil {
			late = x == nil
			return err
		}
		if err := t.settleHolds(x, st.Now); err != nil {
			return err
		}
		if st.Phase != agentexecutionv1.ExecutionPhase_waiting {
			if err := t.closedEvents(x, closedCall(st.Phase), st.Now); err != nil {
				return err
			}
			if err := t.closeCalls(x, closedCall(st.Phase)); err != nil {
				return err
			}
		}
		if st.Item != nil {
			if err := t.addItem(x, st.Item); err != nil {
				return err
			}
		}
		if st.Recoveries != nil {
			if err := t.recovered(x, *st.Recoveries); err != nil {
				return err
			}
		}
		return t.endExecution(x, ending{
			phase: st.Phase, err: st.Error, segmentLimit: st.SegmentLimit, waitingFor: st.WaitingFor, until: st.Until,
			events: st.Events(x.totals()), pause: st.Pause, now: st.Now,
		})
	})
	if err == nil && late {
		return store.ErrFenced
	}
	return err
}

// closedCall is what the history says of a call that the end of its turn left open.
func closedCall(p agentexecutionv1.ExecutionPhase) func(store.PendingTool) string {
	return func(c store.PendingTool) string {
		if mayHaveRun(c) {
			return "This call was begun and not completed: the turn ended before (" + p.String() + "). It may have taken effect, in part or whole."
		}
		return "This call was not made: the turn ended before (" + p.String() + ")."
	}
}

// mayHaveRun says whether an open call may have had an effect.
func mayHaveRun(c store.PendingTool) bool { return c.Started && c.Class != "read_only" }

// closeCalls gives every open call a result, so that the history stays paired
// for the session's next turn.
func (t *txn) closeCalls(x *execution, text func(store.PendingTool) string) error {
	open, err := t.pending(x.id)
	if err != nil {
		return err
	}
	return t.closeThese(x, open, text)
}

// closedEvents say in the log what became of calls that the end of their turn left
// open: each call that was asked for has one end there too.
func (t *txn) closedEvents(x *execution, text func(store.PendingTool) string, now time.Time) error {
	open, err := t.pending(x.id)
	if err != nil || len(open) == 0 {
		return err
	}
	var events []*eventv1.Event
	for _, p := range open {
		if mayHaveRun(p) {
			events = append(events, event.New(now, &eventv1.AgentToolOutcomeUnknown{CallId: p.Call.GetId(), Name: p.Call.GetName(), Message: text(p)}))
			continue
		}
		events = append(events, event.New(now, &eventv1.AgentToolFailed{CallId: p.Call.GetId(), Name: p.Call.GetName(), Result: text(p)}))
	}
	return t.appendEvents(x.fence(), eventv1.Association_current, events)
}

func (t *txn) closeThese(x *execution, open []store.PendingTool, text func(store.PendingTool) string) error {
	for _, p := range open {
		if err := t.toolState("UPDATE tool_calls SET state = 'finished' WHERE execution = ? AND call_id = ?", p.Call.GetId(), x.id, p.Call.GetId()); err != nil {
			return err
		}
		item := &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{
			CallId: p.Call.GetId(), Name: p.Call.GetName(), Text: text(p), IsError: true, OutcomeUnknown: mayHaveRun(p),
		}}}
		if err := t.addItem(x, item); err != nil {
			return err
		}
	}
	return nil
}

// Release gives an execution back without an outcome.
func (s *Store) Release(ctx context.Context, f store.Fence, reason string, now time.Time) error {
	return s.fenced(ctx, "release", f, nil, func(t *txn, x *execution) error {
		if err := t.closeAttempt(x.attempt, "released", now); err != nil {
			return err
		}
		if err := t.settleHolds(x, now); err != nil {
			return err
		}
		if err := t.requeue(x); err != nil {
			return err
		}
		return t.wake(x.session, now)
	})
}

// RequestCancel ends what waits and marks what runs.
func (s *Store) RequestCancel(ctx context.Context, c store.CancelRequest) (store.CancelAnswer, error) {
	var out store.CancelAnswer
	err := s.do(ctx, "cancel", c.Session, func(t *txn) error {
		out = store.CancelAnswer{}
		if err := t.once(c.Once); err != nil {
			return err
		}
		var ids []string
		if err := t.Rows(func(r sqldb.Scanner) error {
			var id string
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		}, `SELECT id FROM executions WHERE session = ? AND (? = '' OR id = ?) AND state IN ('queued','running','waiting')
			ORDER BY position DESC`, c.Session, c.Execution, c.Execution); err != nil {
			return err
		}
		for _, id := range ids { // the newest first, so that the head does not move to one that ends too
			if err := t.cancelOne(id, c, &out); err != nil {
				return err
			}
		}
		if len(ids) > 0 {
			if err := t.wake(c.Session, c.Now); err != nil {
				return err
			}
		}
		if err := t.Row("SELECT revision FROM sessions WHERE id = ?", c.Session).Scan(&out.Revision); err != nil {
			return sessionMissing(err, c.Session)
		}
		if c.Found != nil {
			if err := c.Found(out); err != nil {
				return err
			}
		}
		return t.keep(c.Once)
	})
	return out, err
}

func (t *txn) cancelOne(id string, c store.CancelRequest, out *store.CancelAnswer) error {
	x, err := t.execution(id)
	if err != nil {
		return err
	}
	x.reason = c.Reason
	switch {
	case x.state != "running":
		err = t.endCancelled(x, c.Now)
	case !x.cancelled:
		err = t.markCancelled(x, c)
	}
	if err != nil {
		return err
	}
	if x.state == "running" {
		out.Tell = append(out.Tell, x.fence())
	}
	row, err := t.getRow(resourcev1.ResourceKind_agent_execution, id)
	out.Executions = append(out.Executions, row)
	return err
}

func (t *txn) markCancelled(x *execution, c store.CancelRequest) error {
	if err := t.Exec("UPDATE executions SET cancelled = ?, reason = ? WHERE id = ?", true, c.Reason, x.id); err != nil {
		return err
	}
	requested := event.New(c.Now, &eventv1.TurnCancelRequested{Reason: c.Reason, By: c.By})
	if err := t.appendEvents(x.fence(), eventv1.Association_current, []*eventv1.Event{requested}); err != nil {
		return err
	}
	if err := t.executionStatus(x, func(st *agentexecutionv1.AgentExecutionStatus) {
		st.Phase, st.CancelReason = agentexecutionv1.ExecutionPhase_cancelling, c.Reason
	}); err != nil {
		return err
	}
	return t.sessionPhase(x.session, sessionv1.SessionPhase_cancelling, x.id, "", c.Now)
}

// Cancelling says who has not confirmed an end yet.
func (s *Store) Cancelling(ctx context.Context, f store.Fence, unconfirmed []string, now time.Time) error {
	events := []*eventv1.Event{event.New(now, &eventv1.TurnCancelling{Unconfirmed: unconfirmed})}
	return s.fenced(ctx, "cancelling", f, events, func(t *txn, x *execution) error {
		if err := t.executionStatus(x, func(st *agentexecutionv1.AgentExecutionStatus) { st.Unconfirmed = unconfirmed }); err != nil {
			return err
		}
		return t.appendEvents(f, eventv1.Association_current, events)
	})
}

func (t *txn) endCancelled(x *execution, now time.Time) error {
	events := []*eventv1.Event{}
	if x.generation == 0 {
		events = append(events, event.New(now, &eventv1.InputRemoved{InputId: x.inputID, Reason: "cancelled"}))
	}
	if err := t.settleHolds(x, now); err != nil {
		return err
	}
	closed := closedCall(agentexecutionv1.ExecutionPhase_cancelled)
	if x.state != "waiting" { // a waiting one said what is unknown when it began to wait
		if err := t.closedEvents(x, closed, now); err != nil {
			return err
		}
	}
	if err := t.closeCalls(x, closed); err != nil {
		return err
	}
	return t.endExecution(x, ending{
		phase: agentexecutionv1.ExecutionPhase_cancelled, now: now,
		events: append(events, store.Cancelled(x.totals(), now)),
	})
}

// SettleInterrupted ends a cancelled execution that nobody works on.
func (s *Store) SettleInterrupted(ctx context.Context, session, id string, now time.Time) error {
	return s.do(ctx, "interrupted", session, func(t *txn) error {
		x, err := t.execution(id)
		if err != nil {
			return err
		}
		if x.session != session || !x.cancelled || (x.state != "running" && x.state != "queued" && x.state != "waiting") {
			return store.ErrNoWork
		}
		if err := t.closeAttempt(x.attempt, "lost", now); err != nil {
			return err
		}
		return t.endCancelled(x, now)
	})
}

// LiveAttempts lists attempts that were neither settled nor released.
func (s *Store) LiveAttempts(ctx context.Context) ([]store.LiveAttempt, error) {
	var all []store.LiveAttempt
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		var a store.LiveAttempt
		err := r.Scan(&a.Attempt, &a.Session, &a.Execution, &a.Generation, &a.BootEpoch, &a.Node, &a.Workflow, &a.Run, &a.Activity)
		all = append(all, a)
		return err
	}, "SELECT id, session, execution, generation, boot, node, workflow, run, activity FROM attempts WHERE state = 'live' ORDER BY id")
	return all, err
}

// DeleteSession removes a session with all that belongs to it.
func (s *Store) DeleteSession(ctx context.Context, session string, once *store.Once) (store.Row, error) {
	var out store.Row
	err := s.do(ctx, "delete_session", session, func(t *txn) error {
		if err := t.once(once); err != nil {
			return err
		}
		var err error
		if out, err = t.getRow(resourcev1.ResourceKind_session, session); err != nil {
			return err
		}
		var open int
		if err := t.Row("SELECT open FROM sessions WHERE id = ?", session).Scan(&open); err != nil {
			return sessionMissing(err, session)
		}
		if open > 0 {
			return fault.New(fault.FailedPrecondition, "SESSION_BUSY",
				"session %s has work in progress; end it first with `cadre cancel %s`", session, session).With("session", session)
		}
		if err := t.deleteSession(session); err != nil {
			return err
		}
		return t.keep(once)
	})
	return out, err
}

func (t *txn) deleteSession(session string) error {
	executions := resource.MustKindName(resourcev1.ResourceKind_agent_execution)
	if err := t.Rows(func(r sqldb.Scanner) error {
		c := changed{kind: executions}
		err := r.Scan(&c.id)
		t.changed = append(t.changed, c)
		return err
	}, "SELECT id FROM executions WHERE session = ?", session); err != nil {
		return err
	}
	for _, q := range []string{
		"DELETE FROM tool_calls WHERE execution IN (SELECT id FROM executions WHERE session = ?)",
		"DELETE FROM resource_labels WHERE kind = '" + executions + "' AND id IN (SELECT id FROM executions WHERE session = ?)",
		"DELETE FROM resources WHERE kind = '" + executions + "' AND id IN (SELECT id FROM executions WHERE session = ?)",
		"DELETE FROM budgets WHERE scope = 'execution' AND scope_id IN (SELECT id FROM executions WHERE session = ?)",
		"DELETE FROM budgets WHERE scope = 'session' AND scope_id = ?",
		"DELETE FROM goals WHERE session = ?",
		"DELETE FROM executions WHERE session = ?",
		"DELETE FROM attempts WHERE session = ?",
		"DELETE FROM events WHERE session = ?",
		"DELETE FROM history WHERE session = ?",
		"DELETE FROM outbox WHERE session = ?",
		"DELETE FROM timers WHERE session = ?",
		"DELETE FROM sessions WHERE id = ?",
	} {
		if err := t.Exec(q, session); err != nil {
			return err
		}
	}
	return t.deleteRow(resourcev1.ResourceKind_session, session)
}
