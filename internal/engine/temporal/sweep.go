package temporal

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/cadre-dev/cadre/internal/engine"
)

// sweepTimeout bounds the search for what a predecessor left.
const sweepTimeout = time.Minute

// sweep fails the activities that a dead predecessor held when it died, so that
// their sessions peek again now. The folder's lock is the proof that it is dead.
// The ledger names those it knows of with Abandon; this finds also the attempt
// that was handed out but not claimed yet, of which no ledger knows.
func (d *driver) sweep(c *connection, identity string) {
	ctx, cancel := context.WithTimeout(d.stopping, sweepTimeout)
	defer cancel()
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: namespace, PageSize: 500, Query: "ExecutionStatus = 'Running'",
	}
	for ctx.Err() == nil {
		page, err := c.client.ListWorkflow(ctx, request)
		if err != nil {
			break
		}
		for _, w := range page.GetExecutions() {
			if err := c.abandon(ctx, orphans(ctx, c, w, identity)); err != nil {
				break
			}
		}
		request.NextPageToken = page.GetNextPageToken()
		if len(request.NextPageToken) == 0 {
			return
		}
	}
	if d.stopping.Err() == nil {
		d.log.Warn("engine sweep was not completed; what it did not reach ends by its heartbeat timeout")
	}
}

// orphans are the started activities of a workflow that another start holds.
func orphans(ctx context.Context, c *connection, w *workflowpb.WorkflowExecutionInfo, identity string) []engine.ActivityRef {
	id, run := w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId()
	found, err := c.client.DescribeWorkflowExecution(ctx, id, run)
	if err != nil {
		return nil // it has closed since
	}
	var refs []engine.ActivityRef
	for _, a := range found.GetPendingActivities() {
		if a.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED && a.GetLastWorkerIdentity() != identity {
			refs = append(refs, engine.ActivityRef{Workflow: id, Run: run, Activity: a.GetActivityId()})
		}
	}
	return refs
}
