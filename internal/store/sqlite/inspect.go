package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// longestCheck bounds how long a start looks for damage.
const longestCheck = 100 * time.Millisecond

// Inspect looks into the database of the folder dir without changing what it
// holds. The error says what is wrong with it: store.ErrNewerSchema, damage.
func Inspect(ctx context.Context, dir string) (store.Inspection, error) {
	var found store.Inspection
	path := filepath.Join(dir, FileName)
	if err := present(dir); err != nil {
		return found, err
	}
	steps, err := store.Steps(migrations)
	if err != nil {
		return found, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return found, found.Plan(steps)
	}
	db, err := lookDB(path)
	if err != nil {
		return found, err
	}
	defer func() { _ = db.Close() }()
	found.Exists = true
	if err := undamaged(ctx, db, path); err != nil {
		return found, err
	}
	if err := whole(ctx, db, dir); err != nil {
		return found, err
	}
	if err := db.QueryRowContext(ctx, "SELECT COALESCE(max(version_id), 0) FROM schema_version WHERE is_applied").Scan(&found.Schema); err != nil {
		return found, notOurs(path, err)
	}
	if err := found.Plan(steps); err != nil {
		return found, err
	}
	var newest string
	if err := db.QueryRowContext(ctx, "SELECT COALESCE(max(updated_at), '') FROM resources").Scan(&newest); err != nil {
		return found, notOurs(path, err)
	}
	found.Newest = sqldb.Unstamp(newest)
	return found, nil
}

// undamaged looks for damage until ctx ends; what it did not get to is not
// damaged as far as it knows.
func undamaged(ctx context.Context, db *sql.DB, path string) error {
	var verdict string
	switch err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return damaged(path, err)
	case verdict != "ok":
		return damaged(path, errors.New(verdict))
	}
	return nil
}

func damaged(path string, err error) error {
	return fault.New(fault.FailedPrecondition, "STORE_DAMAGED",
		"the database %s is damaged, or is no database: restore a backup of it, or move it and the files %s-wal and %s-shm away to begin anew", path, FileName, FileName).Because(err)
}

func notOurs(path string, err error) error {
	return fault.New(fault.FailedPrecondition, "STORE_OPEN_FAILED",
		"%s is no database of Cadre: move it away to begin anew, or name another folder with --data", path).Because(err)
}

// Schemas says which schema the database of the folder dir has, 0 when there is none,
// and which one this release makes. It does not look for damage.
func Schemas(ctx context.Context, dir string) (has, release int64, err error) {
	steps, err := store.Steps(migrations)
	if err != nil {
		return 0, 0, err
	}
	if release = steps[len(steps)-1].Version; !Present(dir) {
		return 0, release, nil
	}
	db, err := lookDB(filepath.Join(dir, FileName))
	if err != nil {
		return 0, release, err
	}
	defer func() { _ = db.Close() }()
	has, err = version(ctx, db)
	return has, release, err
}

// version is that of a database's schema; 0 when it has none yet.
func version(ctx context.Context, db *sql.DB) (has int64, err error) {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'").Scan(&tables); err != nil || tables == 0 {
		return 0, readFault(err)
	}
	err = db.QueryRowContext(ctx, "SELECT COALESCE(max(version_id), 0) FROM schema_version WHERE is_applied").Scan(&has)
	return has, readFault(err)
}

// Files is what the driver offers beside a Store.
var Files = store.Files{Name: FileName, Copy: Copy, Present: Present, Inspect: Inspect, Adopt: Adopt, Schemas: Schemas}
