package store

import (
	"context"
	"time"
)

// WorkflowEvent is one entry of a workflow execution's log. The log is a copy of what
// the workflow's steps report, which may report again: the writer numbers it.
type WorkflowEvent struct {
	Execution string
	Seq       int64 // from 1, given by the writer
	Type      string
	Task      string // the step that it is about; "" for the execution itself
	Data      []byte
	CreatedAt time.Time
}

// WorkflowEventsPage is how many events are read when no limit is given.
const WorkflowEventsPage = 100

// WorkflowEventQuery asks for a part of a workflow execution's log, in order.
type WorkflowEventQuery struct {
	Execution string
	After     int64    // events with a greater seq
	Types     []string // nil for all
	Task      string   // "" for all
	Limit     int      // WorkflowEventsPage when it is not positive
}

// WorkflowEvents keeps the logs of workflow executions.
type WorkflowEvents interface {
	// AppendWorkflowEvents adds events in one transaction and skips those whose
	// (execution, seq) is there already, which stay as they are. It answers those that it
	// added, in the order in which they were given.
	AppendWorkflowEvents(ctx context.Context, events []WorkflowEvent) (added []WorkflowEvent, err error)
	// WorkflowEvents reads.
	WorkflowEvents(ctx context.Context, q WorkflowEventQuery) ([]WorkflowEvent, error)
	// LastWorkflowEvent is the greatest seq of an execution's log; 0 for an empty one.
	LastWorkflowEvent(ctx context.Context, execution string) (int64, error)
	// SweepWorkflowEvents removes events that were created before a time, by an index,
	// at most limit (positive) in one call, and counts them: 0 means that none are left.
	SweepWorkflowEvents(ctx context.Context, before time.Time, limit int) (int64, error)
}
