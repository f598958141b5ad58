package store

import (
	"time"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/resource"
)

// The indexed fields of the kinds whose rows the ledger itself writes. Their
// kinds declare these.
var (
	SessionIndex   = []string{"status.phase", "status.agent_id"}
	ExecutionIndex = []string{"spec.session_id", "status.phase", "spec.agent_id"}
	ArtifactIndex  = []string{"spec.session_id", "spec.execution_id"}
)

// IndexOf reads a message's indexed fields in order.
func IndexOf(m proto.Message, paths []string) (index [4]string) {
	for i, p := range paths {
		index[i] = resource.FieldValue(m, p)
	}
	return index
}

// ChangeExecution is a pure change of an agent execution's row: f changes the
// status, bytes and index follow.
func ChangeExecution(row Row, f func(*agentexecutionv1.AgentExecutionStatus)) (Row, error) {
	m := &agentexecutionv1.AgentExecution{}
	if err := proto.Unmarshal(row.Data, m); err != nil {
		return row, err
	}
	if m.Status == nil {
		m.Status = &agentexecutionv1.AgentExecutionStatus{}
	}
	f(m.Status)
	return encode(row, m, ExecutionIndex)
}

// ChangeSession is the same for a session's row.
func ChangeSession(row Row, f func(*sessionv1.SessionStatus)) (Row, error) {
	m := &sessionv1.Session{}
	if err := proto.Unmarshal(row.Data, m); err != nil {
		return row, err
	}
	if m.Status == nil {
		m.Status = &sessionv1.SessionStatus{}
	}
	f(m.Status)
	return encode(row, m, SessionIndex)
}

func encode(row Row, m proto.Message, index []string) (Row, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	row.Data, row.Index = data, IndexOf(m, index)
	return row, err
}

// AddUsage sums token counts. Either may be nil; the answer is new.
func AddUsage(a, b *messagev1.Usage) *messagev1.Usage {
	return &messagev1.Usage{
		InputTokens:       a.GetInputTokens() + b.GetInputTokens(),
		OutputTokens:      a.GetOutputTokens() + b.GetOutputTokens(),
		CachedInputTokens: a.GetCachedInputTokens() + b.GetCachedInputTokens(),
		ReasoningTokens:   a.GetReasoningTokens() + b.GetReasoningTokens(),
		Estimated:         a.GetEstimated() || b.GetEstimated(),
		CostNanoUsd:       a.GetCostNanoUsd() + b.GetCostNanoUsd(),
		UnpricedCalls:     a.GetUnpricedCalls() + b.GetUnpricedCalls(),

		CacheWriteInputTokens: a.GetCacheWriteInputTokens() + b.GetCacheWriteInputTokens(),
	}
}

// StatusChanged is the event of a session's new phase.
func StatusChanged(phase sessionv1.SessionPhase, reason string, now time.Time) *eventv1.Event {
	return event.New(now, &eventv1.SessionStatusChanged{Phase: phase.String(), Reason: reason})
}

// Cancelled is the event of a cancelled turn.
func Cancelled(totals Totals, now time.Time) *eventv1.Event {
	return event.New(now, &eventv1.TurnCancelled{
		Reason: totals.CancelReason, Usage: totals.Usage, DurationMs: Elapsed(totals.StartedAt, now),
	})
}

// Completed is the event of a completed turn.
func Completed(segmentLimit string, totals Totals, now time.Time) *eventv1.Event {
	return event.New(now, &eventv1.TurnCompleted{
		Usage: totals.Usage, ModelCalls: totals.Calls, ToolCalls: totals.ToolCalls,
		SegmentLimit: segmentLimit, DurationMs: Elapsed(totals.StartedAt, now),
	})
}

// What a waiting turn waits for.
const (
	WaitOutcomeUnknown = "outcome_unknown" // a person's word on a call whose outcome is unknown
	WaitProvider       = "provider"        // the timer after which a failed model request is made again
	WaitSetup          = "setup"           // the timer after which a turn is set up again
	WaitCapacity       = "capacity"        // the timer after which a credential of a pool is free again
)

// Elapsed is the time from a to b in milliseconds, 0 when a is unset.
func Elapsed(a, b time.Time) int64 {
	if a.IsZero() {
		return 0
	}
	return max(0, b.Sub(a).Milliseconds()) // a clock may be set back
}
