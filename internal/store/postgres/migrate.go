package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	goosedb "github.com/pressly/goose/v3/database"

	"github.com/cadre-dev/cadre/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrating is the advisory lock that one server holds while it changes the schema.
const migrating = 0x6361647265_01

// migrate brings the schema up to date, each step in its own transaction. One server
// does it at a time: the lock belongs to a transaction, so that it also holds behind a
// pooler.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	guard, err := pool.Begin(ctx)
	if err != nil {
		return openFault(place(pool.Config().ConnConfig), err)
	}
	defer func() { _ = guard.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := guard.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrating)); err != nil {
		return openFault(place(pool.Config().ConnConfig), err)
	}
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	chain, err := chainOf(db)
	if err != nil {
		return err
	}
	newest := newestOf(chain)
	has, err := chain.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if has > newest {
		return store.NewerSchema(has, newest)
	}
	if _, err := chain.Up(ctx); err != nil {
		if partial, ok := errors.AsType[*goose.PartialError](err); ok {
			return store.MigrationFailed(partial.Failed.Source.Version, partial.Err)
		}
		return store.MigrationFailed(newest, err)
	}
	return nil
}

func newestOf(chain *goose.Provider) int64 {
	sources := chain.ListSources()
	return sources[len(sources)-1].Version
}

// chainOf is the chain of steps over a database.
func chainOf(db *sql.DB) (*goose.Provider, error) {
	versions, err := goosedb.NewStore(goosedb.DialectPostgres, "schema_version")
	if err != nil {
		return nil, err
	}
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider("", db, steps, goose.WithStore(versions))
}
