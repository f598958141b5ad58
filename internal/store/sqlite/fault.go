package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"syscall"

	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cadre-dev/cadre/internal/fault"
)

// why says in a few words what the database reports, and what to do about it.
func why(err error) string {
	var e *sqlitedriver.Error
	if !errors.As(err, &e) {
		return "check the disk's space and permissions"
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return "its disk is full; free some space"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return "its folder or file cannot be written; check permissions and whether the disk is mounted read-only"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return "its file is damaged; stop the server and restore a backup"
	case sqlite3.SQLITE_IOERR:
		return "its disk fails or is full"
	}
	return "check the disk's space and permissions"
}

// isDamage says whether the database reports that its file is no sound database.
func isDamage(err error) bool {
	var e *sqlitedriver.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// isFull says whether the disk has no space left.
func isFull(err error) bool {
	var e *sqlitedriver.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func writeFault(err error) error {
	return fault.New(fault.Unavailable, "STORE_WRITE_FAILED", "the store cannot write: %s (`cadre doctor` says more)", why(err)).Retry().Because(err)
}

func readFault(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.Unavailable, "STORE_READ_FAILED", "the store cannot read: %s (`cadre doctor` says more)", why(err)).Retry().Because(err)
}

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
