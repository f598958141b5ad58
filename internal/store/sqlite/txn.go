package sqlite

import (
	"context"
	"database/sql"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// txn is the inside of one write transaction.
type txn struct {
	w      *writer
	events []*eventv1.Event // committed with it, in order
}

var _ sqldb.Tx = (*txn)(nil)

// Emit has the events told to the observer after the commit.
func (t *txn) Emit(events []*eventv1.Event) { t.events = append(t.events, events...) }

// Exec runs a statement.
func (t *txn) Exec(q string, args ...any) error {
	_, err := t.Affect(q, args...)
	return err
}

// Affect runs a statement and counts the rows that it changed.
func (t *txn) Affect(q string, args ...any) (int64, error) {
	stmt, err := t.w.prepare(q)
	if err != nil {
		return 0, writeFault(err)
	}
	res, err := stmt.Exec(args...)
	if err != nil {
		return 0, writeFault(err)
	}
	n, err := res.RowsAffected()
	return n, err
}

// Row reads one row.
func (t *txn) Row(q string, args ...any) sqldb.Scanner {
	stmt, err := t.w.prepare(q)
	if err != nil {
		return failed{writeFault(err)}
	}
	return row{stmt.QueryRow(args...)}
}

// Rows reads many rows and calls scan for each.
func (t *txn) Rows(scan func(sqldb.Scanner) error, q string, args ...any) error {
	stmt, err := t.w.prepare(q)
	if err != nil {
		return writeFault(err)
	}
	return each(stmt.QueryContext, scan, args...)
}

// row tells what goes wrong with a row as a fault.
type row struct{ *sql.Row }

func (r row) Scan(dest ...any) error {
	err := r.Row.Scan(dest...)
	if isNoRows(err) {
		return sqldb.ErrNoRows
	}
	return readFault(err)
}

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

func each(query func(context.Context, ...any) (*sql.Rows, error), scan func(sqldb.Scanner) error, args ...any) (err error) {
	rows, err := query(context.Background(), args...)
	if err != nil {
		return readFault(err)
	}
	defer func() {
		if cerr := rows.Close(); err == nil && cerr != nil {
			err = readFault(cerr)
		}
	}()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return readFault(rows.Err())
}

// maxPrepared bounds how many statements the readers keep: filters by label have
// texts of their own.
const maxPrepared = 256

// prepared keeps a statement for the readers, or answers nil when it does not.
func (s *database) prepared(q string) *sql.Stmt {
	s.mu.RLock()
	stmt, n := s.stmts[q], len(s.stmts)
	s.mu.RUnlock()
	if stmt != nil || n >= maxPrepared {
		return stmt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.stmts[q]; stmt != nil {
		return stmt
	}
	stmt, err := s.read.Prepare(q)
	if err != nil {
		return nil // the query itself will say what is wrong
	}
	s.stmts[q] = stmt
	return stmt
}

// reader reads outside of a transaction.
type reader struct {
	*database
	ctx context.Context
}

// Rows reads many rows.
func (r reader) Rows(scan func(sqldb.Scanner) error, q string, args ...any) error {
	return each(func(_ context.Context, a ...any) (*sql.Rows, error) {
		if stmt := r.prepared(q); stmt != nil {
			return stmt.QueryContext(r.ctx, a...)
		}
		return r.read.QueryContext(r.ctx, q, a...)
	}, scan, args...)
}

// Row reads one row.
func (r reader) Row(q string, args ...any) sqldb.Scanner {
	if stmt := r.prepared(q); stmt != nil {
		return row{stmt.QueryRowContext(r.ctx, args...)}
	}
	return row{r.read.QueryRowContext(r.ctx, q, args...)}
}
