package relational

import (
	"context"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// fenced runs a write of a running turn. A writer that is no longer the owner
// gets store.ErrFenced, and its events stay as evidence.
func (s *Store) fenced(ctx context.Context, name string, f store.Fence, events []*eventv1.Event, fn func(*txn, *execution) error) error {
	late := false
	err := s.do(ctx, name, f.Session, func(t *txn) error {
		late = false
		x, err := t.owned(f, events)
		if err != nil {
			return err
		}
		if x == nil {
			late = true
			return nil
		}
		return fn(t, x)
	})
	if err == nil && late {
		return store.ErrFenced
	}
	return err
}

// Append adds events of a running turn.
func (s *Store) Append(ctx context.Context, f store.Fence, events []*eventv1.Event) error {
	return s.fenced(ctx, "append", f, events, func(t *txn, _ *execution) error {
		return t.appendEvents(f, eventv1.Association_current, events)
	})
}

// Dispatch is the checkpoint before a model request.
func (s *Store) Dispatch(ctx context.Context, f store.Fence, d store.Dispatch) error {
	return s.fenced(ctx, "dispatch", f, d.Events, func(t *txn, x *execution) error {
		w := whose{org: x.org, session: x.session, execution: x.id, member: d.Member}
		if err := t.Row("SELECT i3 FROM resources WHERE kind = 'agent_execution' AND id = ?", x.id).Scan(&w.agent); err != nil {
			return err
		}
		if err := t.reserve(w, d); err != nil {
			return err
		}
		n, err := t.Affect(`INSERT INTO dispatches (execution, number, session, org, agent, member, model, state, input_tokens, output_tokens, cost, unpriced, at)
			VALUES (?,?,?,?,?,?,?,'dispatched',?,?,?,?,?) ON CONFLICT DO NOTHING`,
			x.id, d.Number, x.session, x.org, w.agent, w.member, d.Model, d.Hold.GetInputTokens(), d.Hold.GetOutputTokens(),
			d.Hold.GetCostNanoUsd(), d.Hold.GetUnpricedCalls(), sqldb.Stamp(d.Now))
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.Internal, "DISPATCH_REPEATED", "model request %d of %s was dispatched before", d.Number, x.id)
		}
		return t.appendEvents(f, eventv1.Association_current, d.Events)
	})
}

// Respond settles a dispatch with its answer.
func (s *Store) Respond(ctx context.Context, f store.Fence, r store.Response) error {
	return s.fenced(ctx, "respond", f, r.Events, func(t *txn, x *execution) error {
		w, err := t.settleDispatch(x, r)
		if err != nil {
			return err
		}
		if err := t.requestTools(x, r); err != nil {
			return err
		}
		if err := t.addUsage(x, r.Usage); err != nil {
			return err
		}
		if r.Item != nil {
			if err := t.addAnswer(x, r); err != nil {
				return err
			}
		}
		if err := t.appendEvents(f, eventv1.Association_current, r.Events); err != nil {
			return err
		}
		return t.charge(f, w, r.Usage, r.Now)
	})
}

// settleDispatch books what a request used, and answers whose it was.
func (t *txn) settleDispatch(x *execution, r store.Response) (whose, error) {
	u := r.Usage
	w := whose{org: x.org, session: x.session, execution: x.id}
	err := t.Row(`UPDATE dispatches SET state = 'settled', input_tokens = ?, output_tokens = ?, cached_tokens = ?, reasoning_tokens = ?,
		estimated = ?, cost = ?, unpriced = ?, cache_write_tokens = ?, response_id = ?, at = ? WHERE execution = ? AND number = ? AND state = 'dispatched' RETURNING agent, member`,
		u.GetInputTokens(), u.GetOutputTokens(), u.GetCachedInputTokens(), u.GetReasoningTokens(), u.GetEstimated(),
		u.GetCostNanoUsd(), u.GetUnpricedCalls(), u.GetCacheWriteInputTokens(),
		r.Item.GetAssistant().GetResponseId(), sqldb.Stamp(r.Now), x.id, r.Number).Scan(&w.agent, &w.member)
	if noRows(err) {
		return w, fault.New(fault.Internal, "DISPATCH_UNKNOWN", "model request %d of %s is not open", r.Number, x.id)
	}
	x.calls, x.redispatches = x.calls+1, 0 // an answer is progress
	return w, err
}

// addAnswer adds a whole answer to the history, and notes how long the history is with it.
func (t *txn) addAnswer(x *execution, r store.Response) error {
	if err := t.addItem(x, r.Item); err != nil {
		return err
	}
	if err := t.Exec("UPDATE sessions SET used_tokens = ?, used_to = history_len WHERE id = ?", r.Usage.GetInputTokens()+r.Usage.GetOutputTokens(), x.session); err != nil {
		return err
	}
	return t.recovered(x, store.Recoveries{})
}

// requestTools registers the calls of an answer, so that each has an outcome
// before the model is asked again.
func (t *txn) requestTools(x *execution, r store.Response) error {
	for i, part := range r.Item.GetAssistant().GetParts() {
		call := part.GetToolCall()
		if call == nil {
			continue
		}
		data, err := encode(call)
		if err != nil {
			return fault.From(err)
		}
		x.toolCalls++
		if err := t.Exec("INSERT INTO tool_calls (execution, call_id, number, position, state, call) VALUES (?,?,?,?,'requested',?)",
			x.id, call.GetId(), r.Number, i, data); err != nil {
			return err
		}
	}
	return nil
}

// StartTools registers that calls are about to take effect.
func (s *Store) StartTools(ctx context.Context, f store.Fence, starts []store.ToolStart) error {
	events := make([]*eventv1.Event, len(starts))
	for i, st := range starts {
		events[i] = st.Event
	}
	return s.fenced(ctx, "start_tools", f, events, func(t *txn, x *execution) error {
		for _, st := range starts {
			var mutation []byte
			if st.Mutation != nil {
				var err error
				if mutation, err = encode(st.Mutation); err != nil {
					return fault.From(err)
				}
			}
			if err := t.toolState("UPDATE tool_calls SET state = 'started', class = ?, mutation = ? WHERE execution = ? AND call_id = ? AND state <> 'finished'",
				st.CallID, st.Class, mutation, x.id, st.CallID); err != nil {
				return err
			}
		}
		return t.appendEvents(f, eventv1.Association_current, events)
	})
}

// UnstartTools takes back that calls are about to take effect.
func (s *Store) UnstartTools(ctx context.Context, f store.Fence, calls []string) error {
	return s.fenced(ctx, "unstart_tools", f, nil, func(t *txn, x *execution) error {
		for _, id := range calls {
			if err := t.Exec("UPDATE tool_calls SET state = 'requested', class = '', mutation = NULL WHERE execution = ? AND call_id = ? AND state = 'started'", x.id, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// FinishTools records outcomes.
func (s *Store) FinishTools(ctx context.Context, f store.Fence, results []store.ToolFinish) error {
	events := make([]*eventv1.Event, len(results))
	for i, r := range results {
		events[i] = r.Event
	}
	return s.fenced(ctx, "finish_tools", f, events, func(t *txn, x *execution) error {
		for _, r := range results {
			if err := t.toolState("UPDATE tool_calls SET state = 'finished' WHERE execution = ? AND call_id = ? AND state <> 'finished'",
				r.CallID, x.id, r.CallID); err != nil {
				return err
			}
			if err := t.addItem(x, r.Item); err != nil {
				return err
			}
		}
		if err := t.Exec("UPDATE executions SET redispatches = 0 WHERE id = ?", x.id); err != nil {
			return err
		}
		return t.appendEvents(f, eventv1.Association_current, events)
	})
}

func (t *txn) toolState(q, callID string, args ...any) error {
	n, err := t.Affect(q, args...)
	if err == nil && n == 0 {
		err = fault.New(fault.Internal, "TOOL_CALL_CLOSED", "tool call %s is unknown or has an outcome already", callID)
	}
	return err
}

// AddItem appends an item that Cadre itself adds.
func (s *Store) AddItem(ctx context.Context, f store.Fence, item *messagev1.Item, handOff bool) error {
	return s.fenced(ctx, "item", f, nil, func(t *txn, x *execution) error {
		if err := t.Exec("UPDATE executions SET handed_off = (handed_off OR ?) WHERE id = ?", handOff, x.id); err != nil {
			return err
		}
		return t.addItem(x, item)
	})
}

// PutArtifact records an artifact's row and its event.
func (s *Store) PutArtifact(ctx context.Context, f store.Fence, row store.Row, event *eventv1.Event) error {
	return s.fenced(ctx, "artifact", f, []*eventv1.Event{event}, func(t *txn, _ *execution) error {
		if err := t.insertRow(row); err != nil {
			return err
		}
		return t.appendEvents(f, eventv1.Association_current, []*eventv1.Event{event})
	})
}

func (t *txn) addItem(x *execution, item *messagev1.Item) error {
	data, err := encode(item)
	if err != nil {
		return fault.From(err)
	}
	return t.appendItem(x, data)
}

func (t *txn) appendItem(x *execution, data []byte) error {
	if data == nil {
		data = []byte{} // what was stored as no bytes is read as nil
	}
	var position int64
	if err := t.Row("UPDATE sessions SET history_len = history_len + 1 WHERE id = ? RETURNING history_len", x.session).Scan(&position); err != nil {
		return err
	}
	return t.Exec("INSERT INTO history (session, position, execution, item) VALUES (?,?,?,?)", x.session, position, x.id, data)
}
