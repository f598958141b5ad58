package app

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/telemetry"
)

// Backup saves a data folder in the file out. For a database that does not lie in it,
// dump is the command that saves that.
func Backup(ctx context.Context, version, dir, out string) (m backup.Manifest, dump string, err error) {
	driver := standard.Store(os.Getenv)
	if err := intact(dir, driver); err != nil {
		return m, "", err
	}
	if err := readable(ctx, driver, dir); err != nil {
		return m, "", err
	}
	s := backup.Source{Dir: dir, Version: version, Store: driver.Name, Artifacts: openArtifacts, Now: time.Now()}
	if driver.Files != nil {
		s.Database = func(ctx context.Context, to string) (store.Copied, error) { return driver.Files.Copy(ctx, dir, to) }
	} else {
		s.External, dump = true, dumpCommand(databaseURL(os.Getenv))
		s.Database = func(ctx context.Context, _ string) (store.Copied, error) { return referred(ctx, driver, dir) }
	}
	m, err = backup.Write(ctx, s, out)
	return m, dump, err
}

// Restore brings a backup into a data folder.
func Restore(ctx context.Context, dir, file string, force bool) (backup.Restored, error) {
	driver := standard.Store(os.Getenv)
	if err := belongs(dir, driver); err != nil {
		return backup.Restored{}, err
	}
	t := backup.Target{
		Dir: dir, Force: force, Store: driver.Name, Derived: []string{"engine"}, Now: time.Now(),
		Artifacts: func(ctx context.Context, dir string) (artifact.Store, error) {
			return standard.Artifacts()[0].Open(ctx, dir)
		},
	}
	if driver.Files != nil {
		t.Files = *driver.Files
	} else if err := readable(ctx, driver, dir); err != nil {
		return backup.Restored{}, err
	}
	return backup.Restore(ctx, file, t)
}

// readable refuses, before anything is opened for writing, a database whose schema this
// release does not work with: NEWER_SCHEMA, and of one elsewhere, which could not be read
// without changing it, SCHEMA_PENDING. A file of an older schema can be saved as it is.
func readable(ctx context.Context, driver standard.StoreDriver, dir string) error {
	if driver.Files != nil {
		has, release, err := driver.Files.Schemas(ctx, dir)
		if err == nil && has > release {
			return store.NewerSchema(has, release)
		}
		return nil // what else is wrong with it is said by whoever copies it
	}
	found, err := driver.Inspect(ctx, standard.StoreOptions{DataDir: dir, Env: os.Getenv})
	if err == nil && found.Exists && len(found.Pending) > 0 {
		return schemaPending(found)
	}
	return err
}

// saveBeforeMigration copies the database before this release changes its schema.
func (a *App) saveBeforeMigration(ctx context.Context, driver standard.StoreDriver) error {
	if driver.Files == nil {
		return nil
	}
	u, err := backup.BeforeMigration(ctx, a.opt.DataDir, *driver.Files, os.Getenv, time.Now())
	if err != nil || u == nil {
		return err
	}
	a.log.InfoContext(ctx, "database was copied before its migration", "from", u.From, "to", u.To, "copy", u.Copy)
	if a.opt.Note != nil {
		a.opt.Note(fmt.Sprintf("the database is brought from schema v%d to v%d; a copy of it as it was is %s", u.From, u.To, u.Copy))
	}
	return nil
}

func openArtifacts(ctx context.Context, dir string) (artifact.Store, error) {
	return standard.Artifacts()[0].Open(ctx, dir)
}

// artifactPage is how many rows of artifacts are read at once.
const artifactPage = 500

// referred lists what a database elsewhere refers to.
func referred(ctx context.Context, driver standard.StoreDriver, dir string) (c store.Copied, err error) {
	s, err := driver.Open(ctx, standard.StoreOptions{DataDir: dir, Env: os.Getenv, Log: telemetry.Discard()})
	if err != nil {
		return c, err
	}
	defer func() { _ = s.Close() }()
	if c.Database, err = s.BootState(ctx, "database_id"); err != nil {
		return c, err
	}
	seen := map[string]bool{}
	for q := (store.Query{Kind: resourcev1.ResourceKind_artifact, Limit: artifactPage}); ; {
		page, err := s.List(ctx, q)
		if err != nil {
			return c, err
		}
		for _, row := range page.Rows {
			sum, err := store.ArtifactDigest(row.Data)
			if err != nil {
				return c, err
			}
			if sum != "" && !seen[sum] {
				seen[sum] = true
				c.Artifacts = append(c.Artifacts, sum)
			}
		}
		if q.After = page.Next; q.After == nil {
			return c, nil
		}
	}
}

// databaseURL is the address of a database elsewhere; "" when it lies in the data folder.
func databaseURL(env func(string) string) string {
	if u := env("CADRE_DATABASE_URL"); u != "" {
		return u
	}
	return env("DATABASE_URL")
}

// dumpCommand saves a PostgreSQL database, without the secret of its address.
func dumpCommand(address string) string {
	const dump, fallback = "pg_dump --format=custom --file=cadre.dump ", `"$CADRE_DATABASE_URL"`
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return dump + fallback
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		q.Del(secret)
	}
	u.RawQuery = q.Encode()
	if strings.Contains(u.String(), "'") {
		return dump + fallback
	}
	return dump + "'" + u.String() + "'"
}
