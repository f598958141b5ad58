package relational

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// Peek says what a session has to do.
func (s *Store) Peek(ctx context.Context, session string, now time.Time) (store.Work, error) {
	work, outbox, err := s.peek(ctx, session, now)
	if err == nil && !work.Due.IsZero() && !work.Due.After(now) {
		if err = s.consumeTimers(ctx, session, now); err == nil {
			work, outbox, err = s.peek(ctx, session, now)
		}
	}
	if err != nil || work.State != store.WorkNone || !outbox {
		return work, err
	}
	// Nothing to claim: this peek consumed the wake-up, unless a newer one came.
	err = s.do(ctx, "peek", session, func(t *txn) error {
		return t.Exec("DELETE FROM outbox WHERE session = ? AND revision <= ?", session, work.Revision)
	})
	return work, err
}

func (s *Store) peek(ctx context.Context, session string, now time.Time) (store.Work, bool, error) {
	var w store.Work
	var outbox bool
	var due string
	err := s.db.Read(ctx).Row(`SELECT revision, EXISTS (SELECT 1 FROM outbox WHERE session = s.id),
		COALESCE((SELECT min(due_at) FROM timers WHERE session = s.id), '') FROM sessions s WHERE id = ?`, session).Scan(&w.Revision, &outbox, &due)
	if noRows(err) {
		return w, false, nil // a deleted session has nothing to do
	}
	if err != nil {
		return w, false, err
	}
	w.Due = sqldb.Unstamp(due)
	var state string
	var cancelled bool
	err = s.db.Read(ctx).Row(`SELECT x.id, x.state, x.cancelled, COALESCE(a.id, ''), COALESCE(a.generation, 0),
		COALESCE(a.boot, ''), COALESCE(a.node, ''), COALESCE(a.workflow, ''), COALESCE(a.run, ''), COALESCE(a.activity, '')
		FROM executions x LEFT JOIN attempts a ON a.id = x.attempt AND a.state = 'live'
		WHERE x.session = ? AND x.state IN ('queued', 'running', 'waiting') ORDER BY x.position LIMIT 1`, session).
		Scan(&w.Execution, &state, &cancelled, &w.Attempt.Attempt, &w.Attempt.Generation,
			&w.Attempt.BootEpoch, &w.Attempt.Node, &w.Attempt.Workflow, &w.Attempt.Run, &w.Attempt.Activity)
	switch {
	case noRows(err):
		return w, outbox, nil
	case err != nil:
		return w, outbox, err
	case cancelled:
		w.State = store.WorkInterrupt
	case state != "waiting":
		w.State = store.WorkClaim
	}
	if w.Attempt.Attempt != "" {
		w.Attempt.Session, w.Attempt.Execution = session, w.Execution
	}
	return w, outbox, nil
}

// Claim makes an attempt the owner of an execution.
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	var out store.Claimed
	err := s.do(ctx, "claim", c.Session, func(t *txn) error {
		x, err := t.claimable(c)
		if err != nil {
			return err
		}
		taken, err := t.taken(x)
		if err != nil {
			return err
		}
		first := taken.First
		if err := t.takeOver(x, c, first); err != nil {
			return err
		}
		if err := t.appendEvents(x.fence(), eventv1.Association_current, c.Events(taken)); err != nil {
			return err
		}
		if err := t.sessionPhase(x.session, sessionv1.SessionPhase_running, x.id, "", c.Now); err != nil {
			return err
		}
		if err := t.Exec("DELETE FROM outbox WHERE session = ?", x.session); err != nil {
			return err
		}
		out, err = t.claimed(x, first)
		return err
	})
	return out, err
}

// claimable checks that the execution waits for an attempt and that the one
// before it is proven gone.
func (t *txn) claimable(c store.Claim) (*execution, error) {
	x, err := t.execution(c.Execution)
	if err != nil {
		return nil, err
	}
	if x.session != c.Session || x.cancelled || (x.state != "queued" && x.state != "running") {
		return nil, store.ErrNoWork
	}
	var head string
	if err := t.Row("SELECT id FROM executions WHERE session = ? AND state IN ('queued','running','waiting') ORDER BY position LIMIT 1", c.Session).Scan(&head); err != nil {
		return nil, err
	}
	if head != x.id {
		return nil, store.ErrNoWork
	}
	var live string
	err = t.Row("SELECT id FROM attempts WHERE session = ? AND state = 'live'", c.Session).Scan(&live)
	if err != nil && !noRows(err) {
		return nil, err
	}
	if live != "" && live != c.Gone {
		return nil, store.ErrOwned
	}
	return x, t.closeAttempt(live, "lost", c.Now)
}

// taken says how the attempt before this one ended.
func (t *txn) taken(x *execution) (store.Taken, error) {
	if x.generation == 0 {
		return store.Taken{First: true}, nil
	}
	var state string
	err := t.Row("SELECT state FROM attempts WHERE id = ?", x.attempt).Scan(&state)
	if err != nil && !noRows(err) {
		return store.Taken{}, err
	}
	how := store.Taken{Lost: x.generation, Reason: "attempt_lost"}
	switch state {
	case "released":
		how.Reason = "released"
	case "settled":
		how.Reason = "resumed" // it waited, or failed and was recovered
	}
	return how, nil
}

// takeOver raises the generation and, the first time, delivers the input.
func (t *txn) takeOver(x *execution, c store.Claim, first bool) error {
	if err := t.countLost(x, c); err != nil {
		return err
	}
	x.generation++
	x.attempt = c.Attempt
	if x.startedAt.IsZero() { // the first time, or since a person let it go on
		x.startedAt = c.Now
	}
	if first {
		if err := t.appendItem(x, x.input); err != nil {
			return err
		}
		policy, err := encode(c.Policy)
		if err != nil {
			return fault.From(err)
		}
		x.policy = policy
	} else if err := t.settleHolds(x, c.Now); err != nil {
		return err
	}
	if err := t.Exec("UPDATE executions SET state = 'running', waiting_for = '', generation = ?, attempt = ?, policy = ?, started_at = ?, redispatches = ? WHERE id = ?",
		x.generation, x.attempt, x.policy, sqldb.Stamp(x.startedAt), x.redispatches, x.id); err != nil {
		return err
	}
	if err := t.Exec("UPDATE sessions SET active = ? WHERE id = ?", x.id, x.session); err != nil {
		return err
	}
	if err := t.Exec(`INSERT INTO attempts (id, session, execution, generation, state, boot, node, workflow, run, activity, claimed_at)
		VALUES (?,?,?,?,'live',?,?,?,?,?,?)`, x.attempt, x.session, x.id, x.generation, c.BootEpoch, c.Node, c.Workflow, c.Run, c.Activity, sqldb.Stamp(c.Now)); err != nil {
		return err
	}
	return t.executionStatus(x, func(st *agentexecutionv1.AgentExecutionStatus) {
		st.Phase = agentexecutionv1.ExecutionPhase_running
		st.StartedAt = timestamp(x.startedAt)
	})
}

// countLost counts attempts that this very process lost one after the other
// without progress. The end of a process is nobody's fault and does not count.
func (t *txn) countLost(x *execution, c store.Claim) error {
	var state, boot string
	err := t.Row("SELECT state, boot FROM attempts WHERE id = ?", x.attempt).Scan(&state, &boot)
	if noRows(err) {
		return nil
	}
	if err == nil && state == "lost" && boot == c.BootEpoch {
		x.redispatches++
	}
	return err
}

// settleHolds books requests that left and whose answer nobody saw at the upper
// bound that was held for them.
func (t *txn) settleHolds(x *execution, now time.Time) error {
	held := &messagev1.Usage{}
	w := whose{org: x.org, session: x.session, execution: x.id}
	var n int32
	err := t.Rows(func(r sqldb.Scanner) error {
		u := &messagev1.Usage{Estimated: true}
		if err := r.Scan(&u.InputTokens, &u.OutputTokens, &u.CostNanoUsd, &u.UnpricedCalls, &w.agent, &w.member); err != nil {
			return err
		}
		held, n = store.AddUsage(held, u), n+1
		return nil
	}, "SELECT input_tokens, output_tokens, cost, unpriced, agent, member FROM dispatches WHERE execution = ? AND state = 'dispatched'", x.id)
	if err != nil || n == 0 {
		return err
	}
	if err := t.Exec("UPDATE dispatches SET state = 'held', estimated = ?, at = ? WHERE execution = ? AND state = 'dispatched'", true, sqldb.Stamp(now), x.id); err != nil {
		return err
	}
	x.calls += n
	if err := t.charge(x.fence(), w, held, now); err != nil {
		return err
	}
	return t.addUsage(x, held)
}

func (t *txn) addUsage(x *execution, u *messagev1.Usage) error {
	x.usage = store.AddUsage(x.usage, u)
	return t.Exec(`UPDATE executions SET redispatches = ?, calls = ?, tool_calls = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?, reasoning_tokens = ?, estimated = ?,
		cost = ?, unpriced = ?, cache_write_tokens = ? WHERE id = ?`,
		x.redispatches, x.calls, x.toolCalls, x.usage.InputTokens, x.usage.OutputTokens, x.usage.CachedInputTokens, x.usage.ReasoningTokens, x.usage.Estimated,
		x.usage.CostNanoUsd, x.usage.UnpricedCalls, x.usage.CacheWriteInputTokens, x.id)
}

func (t *txn) claimed(x *execution, first bool) (store.Claimed, error) {
	c := store.Claimed{
		Fence: x.fence(), First: first, Policy: &ledgerv1.ExecutionPolicy{}, Org: x.org,
		Calls: x.calls, ToolCalls: x.toolCalls, Usage: x.usage, StartedAt: x.startedAt, HandedOff: x.handedOff, Cancelled: x.cancelled, Redispatches: x.redispatches,
		Input: x.inputID, Recoveries: x.recoveries,
	}
	if err := proto.Unmarshal(x.policy, c.Policy); err != nil {
		return c, fault.From(err)
	}
	if err := t.history(x.session, &c); err != nil {
		return c, err
	}
	var err error
	if c.Goal, err = goal(t, x.session); err != nil {
		return c, err
	}
	c.Pending, err = t.pending(x.id)
	return c, err
}

func (t *txn) pending(execution string) ([]store.PendingTool, error) {
	var all []store.PendingTool
	err := t.Rows(func(r sqldb.Scanner) error {
		var state string
		var call, mutation []byte
		p := store.PendingTool{Call: &messagev1.ToolCall{}}
		if err := r.Scan(&state, &p.Class, &call, &mutation); err != nil {
			return err
		}
		p.Started = state == "started"
		if mutation != nil {
			p.Mutation = &ledgerv1.Mutation{}
		}
		all = append(all, p)
		return errors.Join(proto.Unmarshal(call, p.Call), unmarshalIf(mutation, p.Mutation))
	}, "SELECT state, class, call, mutation FROM tool_calls WHERE execution = ? AND state <> 'finished' ORDER BY number, position", execution)
	return all, err
}

func unmarshalIf(data []byte, m *ledgerv1.Mutation) error {
	if data == nil {
		return nil
	}
	return proto.Unmarshal(data, m)
}

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
