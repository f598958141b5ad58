package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
)

// MarkName is a small file beside the database. It says which database the folder
// has and how far its log had come when it was last written, so that a database that
// is gone, another one, or one that lost its newest commits is not taken for the
// whole: SQLite itself reads a damaged end of its -wal file as the end.
const MarkName = "cadre.mark"

// mark is the open file. It is written after each commit that added events, and not
// synced: after a power cut it is older than the database, never newer.
//
// How far the log has come is the greatest rowid of its table. A migration that
// vacuums, which numbers rows anew, must write the mark anew.
type mark struct {
	file   *os.File
	id     string
	events int64 // as it was written last
}

// known reads what the mark of a folder says; "" and 0 without one.
func known(dir string) (database string, events int64, err error) {
	data, err := os.ReadFile(filepath.Join(dir, MarkName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	if _, err := fmt.Sscanf(string(data), "%s %d\n", &database, &events); err != nil {
		return "", 0, nil // torn by a power cut: it tells nothing
	}
	return database, events, nil
}

// present refuses a folder whose database is gone. It is called before SQLite would
// make a new one.
func present(dir string) error {
	database, _, err := known(dir)
	if err != nil || database == "" {
		return err
	}
	path := filepath.Join(dir, FileName)
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	}
	return fault.New(fault.FailedPrecondition, "STORE_MISSING",
		"the database %s, which this data folder had, is gone or empty: restore a backup of it, or remove %s to begin anew with an empty one", path, filepath.Join(dir, MarkName))
}

// whole refuses a database that is not the one of the folder's mark, or that has
// lost commits since.
func whole(ctx context.Context, db *sql.DB, dir string) error {
	database, events, err := known(dir)
	if err != nil || database == "" {
		return err
	}
	path := filepath.Join(dir, FileName)
	lost := func(has int64) error {
		return fault.New(fault.FailedPrecondition, "STORE_LOST_COMMITS",
			"the database %s has lost its newest commits (%d of %d events are there; its -wal file is damaged or gone, or it is an older copy): put the file back, or remove %s to accept the loss",
			path, has, events, filepath.Join(dir, MarkName))
	}
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('boot_state', 'events')").Scan(&tables); err != nil {
		return readFault(err)
	}
	if tables < 2 {
		return lost(0)
	}
	var is string
	if err := db.QueryRowContext(ctx, "SELECT COALESCE((SELECT value FROM boot_state WHERE key = 'database_id'), '')").Scan(&is); err != nil {
		return readFault(err)
	}
	if is != database {
		return fault.New(fault.FailedPrecondition, "STORE_REPLACED",
			"the database %s is not the one that this data folder had: put that back, or remove %s to go on with this one", path, filepath.Join(dir, MarkName))
	}
	var has int64
	if err := db.QueryRowContext(ctx, "SELECT COALESCE(max(rowid), 0) FROM events").Scan(&has); err != nil {
		return readFault(err)
	}
	if has < events {
		return lost(has)
	}
	return nil
}

// openMark opens the mark of a database that is whole, giving the database an id the
// first time.
func openMark(ctx context.Context, db *sql.DB, dir string) (*mark, error) {
	m := &mark{id: id.New("dbs")}
	if _, err := db.ExecContext(ctx, "INSERT INTO boot_state (key, value) VALUES ('database_id', ?) ON CONFLICT DO NOTHING", m.id); err != nil {
		return nil, writeFault(err)
	}
	if err := db.QueryRowContext(ctx, "SELECT value FROM boot_state WHERE key = 'database_id'").Scan(&m.id); err != nil {
		return nil, readFault(err)
	}
	var events int64
	if err := db.QueryRowContext(ctx, "SELECT COALESCE(max(rowid), 0) FROM events").Scan(&events); err != nil {
		return nil, readFault(err)
	}
	var err error
	if m.file, err = os.OpenFile(filepath.Join(dir, MarkName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, openFault(filepath.Join(dir, MarkName), err)
	}
	m.events = -1
	m.write(events)
	return m, nil
}

// write notes how far the log has come. A mark that cannot be written stays older,
// which loses nothing.
func (m *mark) write(events int64) {
	if events == m.events {
		return
	}
	m.events = events
	_, _ = m.file.WriteAt(markLine(m.id, events), 0)
}

func (m *mark) close() error { return m.file.Close() }
