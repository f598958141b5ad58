// Package sqldb is the little of SQL that several rooms share: transactions and
// queries over one database, whatever its driver. The store's contract in SQL
// and the search index are written against it, and each database driver
// implements it.
//
// Statements are written with `?` for parameters, in the SQL that SQLite and
// PostgreSQL both read; what they spell differently is in Dialect. Times are text
// that sorts (see Stamp), booleans are bool, bytes are []byte and never NULL where
// the column forbids it. Texts with a NUL byte are refused by PostgreSQL.
package sqldb

import (
	"context"
	"errors"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// ErrNoRows is what Scan of Row gives when there is none.
var ErrNoRows = errors.New("no rows")

// Scanner reads the columns of a row.
type Scanner interface{ Scan(dest ...any) error }

// Querier reads.
type Querier interface {
	// Row reads one row. Its Scan gives an error that is ErrNoRows when there is none.
	Row(q string, args ...any) Scanner
	// Rows calls scan for each row, in order, until it gives an error.
	Rows(scan func(Scanner) error, q string, args ...any) error
}

// Tx is the inside of one write transaction. Errors of the database are faults
// already (STORE_WRITE_FAILED, STORE_READ_FAILED) and end the transaction.
type Tx interface {
	Querier
	// Exec runs a statement.
	Exec(q string, args ...any) error
	// Affect runs a statement and counts the rows that it changed.
	Affect(q string, args ...any) (int64, error)
	// Emit tells the observer of commits of these events, once they are durable.
	Emit(events []*eventv1.Event)
}

// DB is a database. Safe for concurrent use.
type DB interface {
	Dialect() Dialect
	// Write runs fn in a transaction and returns when it is durable; when fn gives an
	// error nothing is written, and the error is returned as it is. Transactions with
	// the same key are put in one order within this process; "" is no key. fn may
	// be called again when the database asks for a retry, and must be quick. name is
	// for measurements and for the places where tests end the process.
	Write(ctx context.Context, name, key string, fn func(Tx) error) error
	// Read reads outside of a transaction.
	Read(ctx context.Context) Querier
}

// Dialect is what databases spell differently.
type Dialect struct {
	Name string // sqlite or postgres
	// ForUpdate ends a SELECT whose row the transaction will change: " FOR UPDATE", or
	// "" where one writer puts all transactions in one order.
	ForUpdate string
	// Position is the function that finds a text in another one: instr or strpos.
	Position string
	// Lock is a statement that locks a name, its parameter, until the transaction ends;
	// "" where one writer puts all transactions in one order.
	Lock string
}

// TimeForm is how times are compared and kept: RFC 3339 in UTC with nine digits, so
// that the texts sort as the times do.
const TimeForm = "2006-01-02T15:04:05.000000000Z"

// Stamp is a time as it is kept; "" for the zero time.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(TimeForm)
}

// Unstamp reads it again; the zero time for what is none.
func Unstamp(s string) time.Time {
	t, err := time.Parse(TimeForm, s)
	if err != nil {
		return time.Time{}
	}
	return t
}
