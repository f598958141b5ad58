package temporal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/cadre-dev/cadre/internal/engine"
)

// takeoverTime is for how long after the first connection sessions are freed of what
// a dead process of the same ledger held. What is open is told right after it.
const takeoverTime = time.Minute

// takeover remembers which sessions were looked at. The ledger's owner is the proof
// that no other process of it lives. Its zero value has not begun.
type takeover struct {
	mu    sync.Mutex
	until time.Time
	freed map[string]bool
}

// begin starts the time, once.
func (t *takeover) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until.IsZero() {
		t.until, t.freed = time.Now().Add(takeoverTime), map[string]bool{}
	}
}

// due tells whether the session is to be freed now; it is so once.
func (t *takeover) due(session string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Now().After(t.until) {
		t.freed = nil
		return false
	}
	first := !t.freed[session]
	t.freed[session] = true
	return first
}

// free fails the attempts of a session that another process began, also those of
// which no ledger knows yet, and has the server forget that process. Best effort:
// without it the session goes on after timeouts.
func (c *connection) free(ctx context.Context, session string) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	execution := &commonpb.WorkflowExecution{WorkflowId: workflowID(session)}
	res, err := c.client.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: c.to.namespace, Execution: execution,
	})
	if err != nil || res.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return // unknown or closed: there is nothing to free
	}
	execution = res.GetWorkflowExecutionInfo().GetExecution()
	var refs []engine.ActivityRef
	for _, a := range res.GetPendingActivities() {
		if a.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED && a.GetLastWorkerIdentity() != c.to.identity {
			refs = append(refs, engine.ActivityRef{Workflow: execution.GetWorkflowId(), Run: execution.GetRunId(), Activity: a.GetActivityId()})
		}
	}
	c.unstick(ctx, []engine.ActivityRef{{Workflow: execution.GetWorkflowId(), Run: execution.GetRunId()}})
	if err := c.abandon(ctx, refs); err != nil {
		c.lines.emit(slog.LevelDebug, "client", "session waits for the end of its last attempt", []any{"session", session, "error", err})
	}
}
