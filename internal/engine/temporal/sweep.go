package temporal

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/engine"
)

// sweepTimeout bounds how long a start tries to fail what a predecessor left.
const sweepTimeout = time.Minute

// orphans reads from the files, before the server opens them, which activities
// were in progress when the last process on them ended. The ledger names those it
// knows of with Abandon; here is also the attempt that was handed out but not yet
// claimed, of which no ledger knows.
func (f *folder) orphans() (refs []engine.ActivityRef, err error) {
	db, err := sql.Open("sqlite", dsn(f.path(mainFile)))
	if err != nil {
		return nil, fmt.Errorf("engine: look for orphans: %w", err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query("SELECT workflow_id, run_id, data FROM activity_info_maps")
	if err != nil {
		return nil, fmt.Errorf("engine: look for orphans: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var workflow string
		var run, data []byte
		if err := rows.Scan(&workflow, &run, &data); err != nil {
			return nil, fmt.Errorf("engine: read an orphan: %w", err)
		}
		ref, started, err := orphan(workflow, run, data)
		if err != nil {
			return nil, err
		}
		if started {
			refs = append(refs, ref)
		}
	}
	return refs, rows.Err()
}

// orphan tells what a row says. One that no worker has started is handed out by
// the server itself.
func orphan(workflow string, run, data []byte) (ref engine.ActivityRef, started bool, err error) {
	var info persistencespb.ActivityInfo
	if err := proto.Unmarshal(data, &info); err != nil {
		return ref, false, fmt.Errorf("engine: read an orphan: %w", err)
	}
	id, err := uuid.FromBytes(run)
	if err != nil {
		return ref, false, fmt.Errorf("engine: read an orphan's run: %w", err)
	}
	ref = engine.ActivityRef{Workflow: workflow, Run: id.String(), Activity: info.GetActivityId()}
	return ref, info.GetStartedEventId() != 0, nil
}

// sweep fails what a dead predecessor held, so that its sessions peek again now
// and not after the heartbeat timeout. The folder's lock is the proof that the
// predecessor is dead.
func (d *driver) sweep(c *connection, refs []engine.ActivityRef, decided []halfway) {
	ctx, cancel := context.WithTimeout(d.stopping, sweepTimeout)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { d.renewAll(ctx, c, decided) })
	if err := c.abandon(ctx, refs); err != nil && d.stopping.Err() == nil {
		d.log.Warn("engine sweep failed; attempts of the last process end by their timeout", "error", err)
	}
}

// renewAll renews the sessions that were being decided about, some at once.
func (d *driver) renewAll(ctx context.Context, c *connection, decided []halfway) {
	var all sync.WaitGroup
	room := make(chan struct{}, abandonAtOnce)
	for _, h := range decided {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if err := c.renew(ctx, h); err != nil && d.stopping.Err() == nil {
				d.log.WarnContext(ctx, "a session that was being decided about goes on after its timeout", "workflow", h.workflow, "error", err)
			}
		})
	}
	all.Wait()
}
