package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
)

// files are what the driver keeps in a data folder, in the order in which they are
// moved away: the database stays as long as anything else of it does.
var files = []string{FileName + "-wal", FileName + "-shm", FileName + "-journal", FileName}

// Present says whether the folder dir has a database.
func Present(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, FileName))
	return err == nil && info.Size() > 0
}

// Adopt gives the folder dir, which no server holds, the database in the file from,
// which a server left or Copy wrote and which lies on the same disk. What the folder
// has of another database is moved to the folder aside, which must exist.
//
// The folder's mark changes first, so that a start that comes between two steps, after
// the end of this process, is refused: the old database is not the one of the mark, and
// a folder with a mark and no database is not begun anew.
func Adopt(ctx context.Context, dir, from, aside string) error {
	database, events, err := identify(ctx, from)
	if err != nil {
		return err
	}
	if err := duplicate(filepath.Join(dir, MarkName), filepath.Join(aside, MarkName)); err != nil {
		return moveFault(dir, err)
	}
	if err := replaceMark(dir, database, events); err != nil {
		return moveFault(dir, err)
	}
	failpoint.Hit("adopt.marked")
	for _, name := range files {
		err := os.Rename(filepath.Join(dir, name), filepath.Join(aside, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return moveFault(dir, err)
		}
	}
	failpoint.Hit("adopt.aside")
	path := filepath.Join(dir, FileName)
	if err := os.Rename(from, path); err != nil {
		return moveFault(dir, err)
	}
	failpoint.Hit("adopt.renamed")
	return durable(path)
}

func moveFault(dir string, err error) error {
	return fault.New(fault.Unavailable, "RESTORE_FAILED", "the database of %s cannot be replaced: check the disk's space and permissions, and restore again", dir).Because(err)
}

// identify reads what a mark says of a database, and gives it an id when it has none.
func identify(ctx context.Context, path string) (database string, events int64, err error) {
	db, err := openDB(path, "immediate", 1)
	if err != nil {
		return "", 0, err
	}
	defer func() {
		_, cerr := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
		err = errors.Join(err, cerr, db.Close())
	}()
	if _, err := db.ExecContext(ctx, "INSERT INTO boot_state (key, value) VALUES ('database_id', ?) ON CONFLICT DO NOTHING", id.New("dbs")); err != nil {
		return "", 0, writeFault(err)
	}
	err = db.QueryRowContext(ctx, "SELECT (SELECT value FROM boot_state WHERE key = 'database_id'), (SELECT COALESCE(max(rowid), 0) FROM events)").Scan(&database, &events)
	return database, events, readFault(err)
}

// replaceMark writes the mark of another database, whole or not at all.
func replaceMark(dir, database string, events int64) error {
	temp := filepath.Join(dir, MarkName+".new")
	if err := os.WriteFile(temp, markLine(database, events), 0o600); err != nil {
		return err
	}
	if err := durable(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, MarkName)); err != nil {
		return err
	}
	return durable(filepath.Join(dir, MarkName))
}

func markLine(database string, events int64) []byte {
	return fmt.Appendf(nil, "%s %020d\n", database, events)
}

// duplicate copies a small file that may not be there.
func duplicate(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
