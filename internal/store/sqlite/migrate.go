package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	goosedb "github.com/pressly/goose/v3/database"

	"github.com/cadre-dev/cadre/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date, each step in its own transaction.
func migrate(ctx context.Context, db *sql.DB) error {
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
	if has == newest {
		return nil
	}
	if _, err := chain.Up(ctx); err != nil {
		if partial, ok := errors.AsType[*goose.PartialError](err); ok {
			return store.MigrationFailed(partial.Failed.Source.Version, partial.Err)
		}
		return store.MigrationFailed(newest, err)
	}
	return nil
}

// chainOf is the chain of steps over a database.
func chainOf(db *sql.DB) (*goose.Provider, error) {
	versions, err := goosedb.NewStore(goosedb.DialectSQLite3, "schema_version")
	if err != nil {
		return nil, err
	}
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider("", db, steps, goose.WithStore(versions))
}

func newestOf(chain *goose.Provider) int64 {
	sources := chain.ListSources()
	return sources[len(sources)-1].Version
}
