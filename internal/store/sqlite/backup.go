package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	sqlitedriver "modernc.org/sqlite"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// pagesPerStep is how much of a database is copied between two looks at the context.
const pagesPerStep = 2048

// online is the part of the driver's connection that copies.
type online interface {
	NewBackup(uri string) (*sqlitedriver.Backup, error)
}

// Copy writes the database of the folder dir, as it is at one moment between two
// commits, to the new file to, durably. A server may work on it meanwhile, in this
// process or another one: nobody waits for the copy, and it waits for nobody. The
// copy was looked through for damage. On an error there is no file.
func Copy(ctx context.Context, dir, to string) (copied store.Copied, err error) {
	path := filepath.Join(dir, FileName)
	if err := present(dir); err != nil {
		return copied, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return copied, fault.New(fault.FailedPrecondition, "NO_DATABASE", "there is no database in %s: name the data folder with --data", dir)
	}
	defer func() {
		if err != nil {
			removeDatabase(to)
		}
	}()
	if err := private(to); err != nil {
		return copied, err
	}
	if err := copyPages(ctx, path, to); err != nil {
		return copied, copyFault(path, to, err)
	}
	if copied, err = contents(ctx, to); err != nil {
		return copied, err
	}
	return copied, durable(to)
}

// copyPages copies inside of one read transaction: pages that are committed meanwhile
// are not seen, so that the copy never has to begin anew.
func copyPages(ctx context.Context, path, to string) error {
	db, err := openDB(path, "deferred", 1)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	defer func() { _, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	var tables int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return err
	}
	return conn.Raw(func(c any) error { return stepwise(ctx, c, to) })
}

func stepwise(ctx context.Context, conn any, to string) error {
	source, ok := conn.(online)
	if !ok {
		return fmt.Errorf("the driver's %T cannot copy", conn)
	}
	// Nobody reads the copy before it is whole, and it is synced once, at its end.
	b, err := source.NewBackup("file:" + (&url.URL{Path: to}).EscapedPath() + "?_pragma=journal_mode(off)&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if more, err = b.Step(pagesPerStep); err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return errors.Join(err, b.Finish())
}

// contents looks through a copy and says what it holds.
func contents(ctx context.Context, path string) (store.Copied, error) {
	var c store.Copied
	db, err := openDB(path, "deferred", 1, "query_only(1)")
	if err != nil {
		return c, err
	}
	defer func() { _ = db.Close() }()
	if err := undamaged(ctx, db, path); err != nil {
		return c, err
	}
	var newest string
	err = db.QueryRowContext(ctx, `SELECT (SELECT COALESCE(max(version_id), 0) FROM schema_version WHERE is_applied),
		COALESCE((SELECT value FROM boot_state WHERE key = 'database_id'), ''),
		COALESCE((SELECT max(updated_at) FROM resources), '')`).Scan(&c.Schema, &c.Database, &newest)
	if err != nil {
		return c, notOurs(path, err)
	}
	c.Newest = sqldb.Unstamp(newest)
	c.Artifacts, err = referred(ctx, db)
	return c, errors.Join(err, context.Cause(ctx))
}

// referred lists the digests of the artifacts that a database refers to.
func referred(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT data FROM resources WHERE kind = ?", resource.MustKindName(resourcev1.ResourceKind_artifact))
	if err != nil {
		return nil, readFault(err)
	}
	defer func() { _ = rows.Close() }()
	found := map[string]bool{}
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, readFault(err)
		}
		sum, err := store.ArtifactDigest(data)
		if err != nil {
			return nil, err
		}
		if sum != "" {
			found[sum] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), readFault(rows.Err())
}

// copyFault says whose disk it is that fails.
func copyFault(from, to string, err error) error {
	if isFull(err) {
		return fault.New(fault.ResourceExhausted, "DISK_FULL", "there is no space left for the copy %s of the database: free some space, or name another place", to).Because(err)
	}
	if isDamage(err) {
		return damaged(from, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.Unavailable, "COPY_FAILED", "the database %s cannot be copied to %s: %s", from, to, why(err)).Because(err)
}

// durable has a closed file, and its name, on the disk.
func durable(path string) error {
	for _, name := range []string{path, filepath.Dir(path)} {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return copyFault(path, path, err)
		}
	}
	return nil
}

// removeDatabase removes a file that no connection has open, with those beside it.
func removeDatabase(path string) {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Remove(path + end)
	}
}
