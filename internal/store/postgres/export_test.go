package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cadre-dev/cadre/internal/store"
)

// MigrateTo makes a database whose chain stopped at a version.
func MigrateTo(ctx context.Context, url string, version int64) error {
	pool, err := connect(ctx, url, nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	chain, err := chainOf(db)
	if err != nil {
		return err
	}
	_, err = chain.UpTo(ctx, version)
	return err
}

// Chain is the chain of migrations.
func Chain() ([]store.Step, error) { return store.Steps(migrations) }

// Tables are those whose rights Health looks at.
var Tables = tables
