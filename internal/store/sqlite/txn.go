package sqlite

import (
	"context"
	"database/sql"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/store"
)

// txn is the inside of one write transaction.
type txn struct {
	w      *writer
	events []*eventv1.Event // committed with it, in order
}

// exec runs a statement.
func (t *txn) exec(q string, args ...any) error {
	_, err := t.affect(q, args...)
	return err
}

// affect runs a statement and counts the rows that it changed.
func (t *txn) affect(q string, args ...any) (int64, error) {
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

// row reads one row; Scan gives sql.ErrNoRows when there is none.
func (t *txn) row(q string, args ...any) scanner {
	stmt, err := t.w.prepare(q)
	if err != nil {
		return failed{writeFault(err)}
	}
	return stmt.QueryRow(args...)
}

// rows reads many rows and calls scan for each.
func (t *txn) rows(scan func(scanner) error, q string, args ...any) error {
	stmt, err := t.w.prepare(q)
	if err != nil {
		return writeFault(err)
	}
	return each(stmt.QueryContext, scan, args...)
}

type scanner interface{ Scan(dest ...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

func each(query func(context.Context, ...any) (*sql.Rows, error), scan func(scanner) error, args ...any) (err error) {
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
func (s *Store) prepared(q string) *sql.Stmt {
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

// queryEach reads many rows outside of a transaction.
func (s *Store) queryEach(ctx context.Context, scan func(scanner) error, q string, args ...any) error {
	return each(func(_ context.Context, a ...any) (*sql.Rows, error) {
		if stmt := s.prepared(q); stmt != nil {
			return stmt.QueryContext(ctx, a...)
		}
		return s.read.QueryContext(ctx, q, a...)
	}, scan, args...)
}

// queryRow reads one row outside of a transaction.
func (s *Store) queryRow(ctx context.Context, q string, args ...any) scanner {
	if stmt := s.prepared(q); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	return s.read.QueryRowContext(ctx, q, args...)
}

// once answers whether a mutation was made before, and remembers it otherwise.
// The answer is written by keep, after the change.
func (t *txn) once(o *store.Once) error {
	if o == nil {
		return nil
	}
	answer, found, err := recall(t.row, o)
	if err != nil {
		return err
	}
	if found {
		return &store.Replayed{Answer: answer}
	}
	return nil
}

func (t *txn) keep(o *store.Once) error {
	if o == nil {
		return nil
	}
	if err := t.exec("DELETE FROM idempotency WHERE expires_at < ?", o.Now.Unix()); err != nil {
		return err
	}
	return t.exec("INSERT INTO idempotency (scope, digest, answer, expires_at) VALUES (?, ?, ?, ?)",
		o.Scope, o.Digest, o.Answer(), o.Now.Add(store.OnceKept).Unix())
}

func recall(row func(string, ...any) scanner, o *store.Once) ([]byte, bool, error) {
	var digest string
	var answer []byte
	err := row("SELECT digest, answer FROM idempotency WHERE scope = ? AND expires_at >= ?", o.Scope, o.Now.Unix()).Scan(&digest, &answer)
	switch {
	case isNoRows(err):
		return nil, false, nil
	case err != nil:
		return nil, false, readFault(err)
	case digest != o.Digest:
		return nil, false, store.OtherBody(digest, o.Digest)
	}
	return answer, true, nil
}

// Recall answers what a call with the same key was answered.
func (s *Store) Recall(ctx context.Context, o *store.Once) ([]byte, bool, error) {
	return recall(func(q string, args ...any) scanner { return s.queryRow(ctx, q, args...) }, o)
}

// encode makes a message's bytes, which are never NULL in the database.
func encode(m proto.Message) ([]byte, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if data == nil {
		data = []byte{}
	}
	return data, err
}

// stamp is how times are kept: text that sorts.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(store.TimeForm)
}

func unstamp(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(store.TimeForm, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
