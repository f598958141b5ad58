package temporal

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/google/uuid"
	enumsspb "go.temporal.io/server/api/enums/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"google.golang.org/protobuf/proto"
)

// halfway is a session's workflow that a worker was deciding about when its
// process died. The server would wait for that worker's answer until its time is
// over.
type halfway struct{ workflow, run string }

// halfways reads them from the files, before the server opens them.
func (f *folder) halfways() (all []halfway, err error) {
	db, err := sql.Open("sqlite", dsn(f.path(mainFile)))
	if err != nil {
		return nil, fmt.Errorf("engine: look for decisions in progress: %w", err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query("SELECT workflow_id, run_id, data, state FROM executions")
	if err != nil {
		return nil, fmt.Errorf("engine: look for decisions in progress: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var workflow string
		var run, data, state []byte
		if err := rows.Scan(&workflow, &run, &data, &state); err != nil {
			return nil, fmt.Errorf("engine: read a decision in progress: %w", err)
		}
		open, err := undecided(data, state)
		if err != nil {
			return nil, err
		}
		if !open || !strings.HasPrefix(workflow, workflowID("")) {
			continue
		}
		id, err := uuid.FromBytes(run)
		if err != nil {
			return nil, fmt.Errorf("engine: read the run of a decision in progress: %w", err)
		}
		all = append(all, halfway{workflow, id.String()})
	}
	return all, rows.Err()
}

// undecided tells whether a row is a workflow that runs and that a worker was
// deciding about.
func undecided(data, state []byte) (bool, error) {
	var info persistencespb.WorkflowExecutionInfo
	var st persistencespb.WorkflowExecutionState
	if err := proto.Unmarshal(data, &info); err != nil {
		return false, fmt.Errorf("engine: read a workflow: %w", err)
	}
	if err := proto.Unmarshal(state, &st); err != nil {
		return false, fmt.Errorf("engine: read a workflow's state: %w", err)
	}
	running := st.GetState() == enumsspb.WORKFLOW_EXECUTION_STATE_RUNNING || st.GetState() == enumsspb.WORKFLOW_EXECUTION_STATE_CREATED
	return running && info.GetWorkflowTaskStartedEventId() != 0, nil
}

// renew ends such a workflow and starts the session's next one, which peeks at
// once: what the session has to do stands in the ledger.
func (c *connection) renew(ctx context.Context, h halfway) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := c.client.TerminateWorkflow(ctx, h.workflow, h.run, "its process died while it was decided about"); err != nil && !isUnknown(err) {
		return err
	}
	return c.wake(ctx, strings.TrimPrefix(h.workflow, workflowID("")), 0)
}
