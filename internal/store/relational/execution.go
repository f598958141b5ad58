package relational

import (
	"time"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// execution is a row of the table of that name.
type execution struct {
	id, session, org, state, attempt, reason, inputID string
	generation                                        int64
	input, policy                                     []byte
	cancelled, handedOff                              bool
	calls, toolCalls, redispatches                    int32
	usage                                             *messagev1.Usage
	startedAt                                         time.Time
	recoveries                                        store.Recoveries
}

func (x *execution) fence() store.Fence {
	return store.Fence{Session: x.session, Execution: x.id, Attempt: x.attempt, Generation: x.generation}
}

func (x *execution) totals() store.Totals {
	return store.Totals{Usage: x.usage, Calls: x.calls, ToolCalls: x.toolCalls, StartedAt: x.startedAt, CancelReason: x.reason}
}

// execution reads one; store.ErrNoWork when it does not exist.
func (t *txn) execution(id string) (*execution, error) {
	x := &execution{id: id, usage: &messagev1.Usage{}}
	var started, overloaded string
	err := t.Row(`SELECT x.session, s.org, x.state, x.generation, x.attempt, x.input_id, x.input, x.policy, x.cancelled, x.reason,
		x.handed_off, x.calls, x.tool_calls, x.redispatches, x.input_tokens, x.output_tokens, x.cached_tokens, x.reasoning_tokens,
		x.estimated, x.cost, x.unpriced, x.cache_write_tokens, x.started_at,
		x.recoveries, x.overloads, x.overloaded_at, x.recovered_from FROM executions x JOIN sessions s ON s.id = x.session WHERE x.id = ?`, id).
		Scan(&x.session, &x.org, &x.state, &x.generation, &x.attempt, &x.inputID, &x.input, &x.policy, &x.cancelled, &x.reason,
			&x.handedOff, &x.calls, &x.toolCalls, &x.redispatches, &x.usage.InputTokens, &x.usage.OutputTokens, &x.usage.CachedInputTokens,
			&x.usage.ReasoningTokens, &x.usage.Estimated, &x.usage.CostNanoUsd, &x.usage.UnpricedCalls, &x.usage.CacheWriteInputTokens, &started,
			&x.recoveries.Count, &x.recoveries.Overloads, &overloaded, &x.recoveries.Code)
	if noRows(err) {
		return nil, store.ErrNoWork
	}
	x.startedAt, x.recoveries.Since = sqldb.Unstamp(started), sqldb.Unstamp(overloaded)
	return x, err
}

// ending is how an execution ends, or begins to wait.
type ending struct {
	phase        agentexecutionv1.ExecutionPhase
	err          *agentexecutionv1.ExecutionError
	segmentLimit string
	waitingFor   string
	until        time.Time // of a waiting one: when it goes on by itself
	events       []*eventv1.Event
	pause        *store.GoalPause // of the session's goal; nil for none
	now          time.Time
}

// endExecution writes the outcome everywhere it stands: the row, the resource,
// the log, the attempt and the session.
func (t *txn) endExecution(x *execution, e ending) error {
	waiting := e.phase == agentexecutionv1.ExecutionPhase_waiting
	if x.state == "waiting" { // it waits no more
		if err := t.Exec("DELETE FROM timers WHERE session = ? AND name = (SELECT waiting_for FROM executions WHERE id = ?)", x.session, x.id); err != nil {
			return err
		}
	}
	if err := t.Exec("UPDATE executions SET state = ?, waiting_for = ? WHERE id = ?", e.phase.String(), e.waitingFor, x.id); err != nil {
		return err
	}
	if err := t.closeAttempt(x.attempt, "settled", e.now); err != nil {
		return err
	}
	if err := t.appendEvents(x.fence(), eventv1.Association_current, e.events); err != nil {
		return err
	}
	if waiting && !e.until.IsZero() {
		if err := t.setTimer(x.session, e.waitingFor, e.until); err != nil {
			return err
		}
	}
	if err := t.executionStatus(x, func(st *agentexecutionv1.AgentExecutionStatus) {
		st.Phase, st.Error, st.SegmentLimit, st.WaitingFor = e.phase, e.err, e.segmentLimit, e.waitingFor
		st.WaitingUntil, st.Unconfirmed = timestamp(e.until), nil
		if !waiting {
			st.EndedAt = timestamp(e.now)
		}
		st.CancelReason = ""
		if e.phase == agentexecutionv1.ExecutionPhase_cancelled {
			st.CancelReason = x.reason
		}
	}); err != nil {
		return err
	}
	if !waiting { // what was answered can be found now
		if err := t.dirty(resourcev1.ResourceKind_agent_execution, x.id); err != nil {
			return err
		}
	}
	if err := t.sessionAfter(x, e, waiting); err != nil {
		return err
	}
	return t.pauseGoal(x, e.pause, e.now)
}

// recovered keeps how often an execution was tried again by itself.
func (t *txn) recovered(x *execution, r store.Recoveries) error {
	if r == x.recoveries {
		return nil
	}
	x.recoveries = r
	return t.Exec("UPDATE executions SET recoveries = ?, overloads = ?, overloaded_at = ?, recovered_from = ? WHERE id = ?",
		r.Count, r.Overloads, sqldb.Stamp(r.Since), r.Code, x.id)
}

// sessionAfter moves the session on: to the next input, to waiting, or to rest.
func (t *txn) sessionAfter(x *execution, e ending, waiting bool) error {
	if waiting {
		return t.sessionPhase(x.session, sessionv1.SessionPhase_waiting, x.id, e.waitingFor, e.now)
	}
	var open int
	if err := t.Row("UPDATE sessions SET open = open - 1, active = '' WHERE id = ? RETURNING open", x.session).Scan(&open); err != nil {
		return err
	}
	if open > 0 {
		if err := t.wake(x.session, e.now); err != nil {
			return err
		}
		var next string
		if err := t.Row("SELECT id FROM executions WHERE session = ? AND state IN ('running','waiting','queued') ORDER BY position LIMIT 1", x.session).Scan(&next); err != nil {
			return err
		}
		return t.sessionPhase(x.session, sessionv1.SessionPhase_running, next, "", e.now)
	}
	phase := sessionv1.SessionPhase_idle
	if e.phase == agentexecutionv1.ExecutionPhase_failed {
		phase = sessionv1.SessionPhase_failed
	}
	return t.sessionPhase(x.session, phase, "", "", e.now)
}

// executionStatus changes the execution's resource, together with its sums.
func (t *txn) executionStatus(x *execution, f func(*agentexecutionv1.AgentExecutionStatus)) error {
	_, err := t.change(resourcev1.ResourceKind_agent_execution, x.id, func(row store.Row) (store.Row, error) {
		return store.ChangeExecution(row, func(st *agentexecutionv1.AgentExecutionStatus) {
			st.Generation, st.AttemptId = x.generation, x.attempt
			st.Usage, st.ModelCalls, st.ToolCalls = x.usage, x.calls, x.toolCalls
			f(st)
		})
	})
	return err
}

func (t *txn) closeAttempt(id, state string, now time.Time) error {
	if id == "" {
		return nil
	}
	return t.Exec("UPDATE attempts SET state = ?, closed_at = ? WHERE id = ? AND state = 'live'", state, sqldb.Stamp(now), id)
}

// owned reads the execution if the fence is its current one. Otherwise it keeps
// the writer's events as late_rejected and answers nil.
func (t *txn) owned(f store.Fence, events []*eventv1.Event) (*execution, error) {
	x, err := t.execution(f.Execution)
	if err != nil {
		return nil, err
	}
	if x.state == "running" && x.session == f.Session && x.attempt == f.Attempt && x.generation == f.Generation {
		return x, nil
	}
	return nil, t.appendEvents(f, eventv1.Association_late_rejected, events)
}
