package app

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/cli"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/store"
)

// Migrate tells where the schema of a data folder's database stands. With up it brings
// it up to date first. A database that lies in the folder is not opened while a server
// holds it.
func Migrate(ctx context.Context, dir string, up bool) (cli.Schema, error) {
	driver := standard.Store(os.Getenv)
	if err := intact(dir, driver); err != nil {
		return cli.Schema{}, err
	}
	o := standard.StoreOptions{DataDir: dir, Env: os.Getenv}
	if up {
		return migrateUp(ctx, driver, o)
	}
	if pid := config.Holder(dir); pid != 0 && driver.Files != nil {
		return cli.Schema{}, fault.New(fault.FailedPrecondition, "DATA_FOLDER_HELD",
			"a server (process %d) holds the data folder %s, and made its schema at its start: `cadre doctor` looks at it; end it with `cadre down` to look at the database itself", pid, dir)
	}
	found, err := driver.Inspect(ctx, o)
	return schemaOf(driver, dir, found), err
}

func migrateUp(ctx context.Context, driver standard.StoreDriver, o standard.StoreOptions) (cli.Schema, error) {
	if err := config.Prepare(o.DataDir); err != nil {
		return cli.Schema{}, err
	}
	lock, err := config.Acquire(o.DataDir)
	if err != nil {
		return cli.Schema{}, err
	}
	defer func() { _ = lock.Release() }()
	before, err := driver.Inspect(ctx, o)
	if err != nil {
		return cli.Schema{}, err
	}
	var saved string
	if len(before.Pending) > 0 {
		if saved, err = copyBefore(ctx, driver, o.DataDir); err != nil {
			return cli.Schema{}, err
		}
		s, err := driver.Open(ctx, o)
		if err != nil {
			return cli.Schema{}, err
		}
		if err := s.Close(); err != nil {
			return cli.Schema{}, err
		}
	}
	after, err := driver.Inspect(ctx, o)
	told := schemaOf(driver, o.DataDir, after)
	told.Applied, told.Copy = stepsOf(before.Pending), saved
	return told, err
}

// copyBefore copies a database that lies in the data folder, as a start does; "" without one.
func copyBefore(ctx context.Context, driver standard.StoreDriver, dir string) (string, error) {
	if driver.Files == nil {
		return "", nil
	}
	u, err := backup.BeforeMigration(ctx, dir, *driver.Files, os.Getenv, time.Now())
	if u == nil {
		return "", err
	}
	return u.Copy, err
}

func schemaOf(driver standard.StoreDriver, dir string, found store.Inspection) cli.Schema {
	where := "the database that CADRE_DATABASE_URL names"
	if driver.Files != nil {
		where = filepath.Clean(dir)
	}
	return cli.Schema{
		Store: driver.Name, Where: where, Exists: found.Exists, Version: found.Schema, Release: found.Release, Pending: stepsOf(found.Pending),
	}
}

func stepsOf(steps []store.Step) []cli.SchemaStep {
	all := make([]cli.SchemaStep, len(steps))
	for i, s := range steps {
		all[i] = cli.SchemaStep(s)
	}
	return all
}
