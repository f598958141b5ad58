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
	versions, err := goosedb.NewStore(goosedb.DialectSQLite3, "schema_version")
	if err != nil {
		return err
	}
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	chain, err := goose.NewProvider("", db, steps, goose.WithStore(versions))
	if err != nil {
		return err
	}
	sources := chain.ListSources()
	newest := sources[len(sources)-1].Version
	has, err := chain.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if has > newest {
		return newerSchema(has, newest)
	}
	if has == newest {
		return nil
	}
	if _, err := chain.Up(ctx); err != nil {
		if partial, ok := errors.AsType[*goose.PartialError](err); ok {
			return fmt.Errorf("migrate to v%d: %w", partial.Failed.Source.Version, partial.Err)
		}
		return fmt.Errorf("migrate to v%d: %w", newest, err)
	}
	return nil
}

func newerSchema(has, newest int64) error {
	return store.ErrNewerSchema.Saying("the database has schema v%d and this cadre knows up to v%d: start the newer cadre, or restore a backup made by this one", has, newest)
}

// newestSchema is the schema that this release makes.
func newestSchema() (int64, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("list the migrations: %w", err)
	}
	return goose.NumericComponent(files[len(files)-1])
}
