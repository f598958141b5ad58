package postgres

import (
	"context"
	"errors"

	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// Inspect looks into a database without changing it. The error says what is wrong
// with it.
func Inspect(ctx context.Context, url string) (store.Inspection, error) {
	var found store.Inspection
	pool, err := connect(ctx, url, nil)
	if err != nil {
		return found, err
	}
	defer pool.Close()
	if err := usable(ctx, pool); err != nil {
		return found, err
	}
	steps, err := store.Steps(migrations)
	if err != nil {
		return found, err
	}
	var exists bool
	if err := pool.QueryRow(ctx, "SELECT to_regclass('schema_version') IS NOT NULL").Scan(&exists); err != nil || !exists {
		return found, errors.Join(readFault(err), found.Plan(steps))
	}
	found.Exists = true
	var newest string
	if err := pool.QueryRow(ctx, `SELECT (SELECT COALESCE(max(version_id), 0) FROM schema_version WHERE is_applied),
		(SELECT COALESCE(max(updated_at), '') FROM resources)`).Scan(&found.Schema, &newest); err != nil {
		return found, readFault(err)
	}
	if err := found.Plan(steps); err != nil {
		return found, err
	}
	found.Newest = sqldb.Unstamp(newest)
	return found, nil
}
