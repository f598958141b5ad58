// Package sqlite keeps everything in one SQLite file: WAL, every commit synced
// to the disk, one writer that commits what is queued together, many readers.
//
// It promises what package store asks for. One writer means that here all
// transactions are put in one order; callers must not rely on that.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	_ "modernc.org/sqlite" // registers the database/sql driver `sqlite`

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/relational"
)

// FileName is the database's file in the data folder.
const FileName = "cadre.db"

// Store is the driver. Make it with Open.
type Store struct {
	*relational.Store
	*database
}

// database is the file with its connections.
type database struct {
	path   string
	read   *sql.DB
	write  *sql.DB
	writer *writer

	mu    sync.RWMutex
	stmts map[string]*sql.Stmt // of the readers, by text
}

var _ store.Store = (*Store)(nil)

// Open opens or creates the database in the folder dir and brings its schema up
// to date. A database of a newer release is refused with store.ErrNewerSchema.
func Open(ctx context.Context, dir string) (*Store, error) {
	path := filepath.Join(dir, FileName)
	if err := usable(ctx, dir); err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		return nil, err
	}
	write, err := openDB(path, "immediate", 1)
	if err != nil {
		return nil, err
	}
	m, err := ready(ctx, write, dir)
	if err != nil {
		_ = write.Close()
		return nil, err
	}
	read, err := openDB(path, "deferred", max(4, runtime.NumCPU()*2))
	if err != nil {
		_ = write.Close()
		return nil, err
	}
	w, err := startWriter(ctx, write, m)
	if err != nil {
		_ = write.Close()
		_ = read.Close()
		return nil, openFault(path, err)
	}
	db := &database{path: path, read: read, write: write, writer: w, stmts: map[string]*sql.Stmt{}}
	return &Store{relational.New(db), db}, nil
}

// private makes the file of a new database, which the files beside it take their
// permissions from, readable for its owner alone.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return openFault(path, err)
	}
	if err := errors.Join(f.Close(), os.Chmod(path, 0o600)); err != nil {
		return openFault(path, err)
	}
	return nil
}

// usable refuses a database that this release cannot work with, before anything of it is
// changed: one that is gone, damaged as far as a start may look, not whole, or of a newer
// release. A folder without one is usable.
func usable(ctx context.Context, dir string) error {
	if err := present(dir); err != nil || !Present(dir) {
		return err
	}
	path := filepath.Join(dir, FileName)
	db, err := lookDB(path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	look, cancel := context.WithTimeout(ctx, longestCheck)
	defer cancel()
	if err := undamaged(look, db, path); err != nil {
		return err
	}
	if err := whole(ctx, db, dir); err != nil {
		return err
	}
	has, err := version(ctx, db)
	if err != nil {
		return err
	}
	steps, err := store.Steps(migrations)
	if err != nil {
		return err
	}
	return (&store.Inspection{Schema: has}).Plan(steps)
}

// ready brings the schema of a database up to date, and opens its mark.
func ready(ctx context.Context, db *sql.DB, dir string) (*mark, error) {
	if err := migrate(ctx, db); err != nil {
		return nil, err
	}
	return openMark(ctx, db, dir)
}

// lookDB opens a database to look at it. Neither the file nor what is in its log is
// changed, also when this was the last connection.
func lookDB(path string) (*sql.DB, error) {
	return open(path, url.Values{"mode": {"ro"}, "_txlock": {"deferred"}}, 1, "busy_timeout(5000)", "query_only(1)", "cache_size(-16000)", "temp_store(memory)")
}

func openDB(path, lock string, conns int, more ...string) (*sql.DB, error) {
	return open(path, url.Values{"_txlock": {lock}}, conns, append([]string{
		"busy_timeout(5000)", "journal_mode(wal)", "synchronous(full)", "fullfsync(1)", "checkpoint_fullfsync(1)",
		"foreign_keys(0)", "cache_size(-16000)", "temp_store(memory)", "wal_autocheckpoint(2000)",
	}, more...)...)
}

func open(path string, q url.Values, conns int, pragmas ...string) (*sql.DB, error) {
	q["_pragma"] = pragmas
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, openFault(path, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if err := db.Ping(); err != nil {
		_ = db.Close()
		return nil, openFault(path, err)
	}
	return db, nil
}

func openFault(path string, err error) error {
	if isDamage(err) {
		return damaged(path, err)
	}
	return fault.New(fault.FailedPrecondition, "STORE_OPEN_FAILED",
		"the database %s cannot be opened; check that the folder is writable and that the file is a Cadre database (`cadre doctor` says more)", path).Because(err)
}

// Dialect is how SQLite spells things. One writer puts all transactions in one order.
func (*database) Dialect() sqldb.Dialect { return sqldb.Dialect{Name: "sqlite", Position: "instr"} }

// Write runs a transaction, together with others that wait.
func (s *database) Write(ctx context.Context, name, _ string, fn func(sqldb.Tx) error) error {
	return s.writer.do(ctx, name, func(t *txn) error { return fn(t) })
}

// Read reads what was committed.
func (s *database) Read(ctx context.Context) sqldb.Querier { return reader{s, ctx} }

// Capabilities says that the file belongs to one process: a second handle of it works,
// but sees the other's commits only when it looks.
func (*Store) Capabilities() store.Capabilities { return store.Capabilities{} }

// OnCommit names the observer of committed events.
func (s *database) OnCommit(f func([]*eventv1.Event)) { s.writer.observe(f) }

// Health proves that the writer answers. It writes only when the newest commit
// failed, to see whether one would work again.
func (s *Store) Health(ctx context.Context) error {
	if i := s.writer.sick.Load(); i != nil {
		if s.writer.ailing() {
			return i.err
		}
		return s.SetBootState(ctx, "health", "tried")
	}
	return s.writer.do(ctx, "health", func(t *txn) error {
		var n int
		return t.Row("SELECT 1").Scan(&n)
	})
}

// Close ends the writer, which checkpoints the log into the file.
func (s *database) Close() error {
	s.writer.stop()
	s.mu.Lock()
	for _, stmt := range s.stmts {
		_ = stmt.Close()
	}
	clear(s.stmts)
	s.mu.Unlock()
	merr := s.writer.mark.close()
	rerr := s.read.Close()
	_, cerr := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	werr := s.write.Close()
	for _, err := range []error{merr, rerr, cerr, werr} {
		if err != nil {
			return fmt.Errorf("close %s: %w", s.path, err)
		}
	}
	return nil
}
