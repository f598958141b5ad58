package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"

	"github.com/cadre-dev/cadre/internal/store"
)

// MigrateTo makes a database in a folder whose chain stopped at a version.
func MigrateTo(ctx context.Context, dir string, version int64) error {
	db, err := Raw(dir)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	chain, err := chainOf(db)
	if err != nil {
		return err
	}
	_, err = chain.UpTo(ctx, version)
	return err
}

// Raw opens the file of a folder beside the driver.
func Raw(dir string) (*sql.DB, error) { return openDB(filepath.Join(dir, FileName), "immediate", 1) }

// Chain is the chain of migrations.
func Chain() ([]store.Step, error) { return store.Steps(migrations) }
