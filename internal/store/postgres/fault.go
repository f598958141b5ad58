package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// state is the SQLSTATE of an error; "" when the database did not answer.
func state(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// collided tells whether a transaction met another one and works when it is made
// again: a serialization failure, a deadlock, or a row that somebody else inserted
// first, which the next try sees.
func collided(err error) bool {
	switch state(err) {
	case "40001", "40P01", "23505":
		return true
	}
	return false
}

// cutOff tells whether the connection broke, or the server ended it.
func cutOff(err error) bool {
	switch s := state(err); {
	case s == "57P01", s == "57P02", s == "57P03", s == "08006", s == "08001", s == "08003", s == "53300":
		return true
	case s != "":
		return false
	}
	return err != nil && (pgconn.SafeToRetry(err) || isNetwork(err))
}

// isNetwork tells whether an error is of the connection and not of what it carried.
func isNetwork(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func closed() *fault.Fault {
	return fault.New(fault.Unavailable, "STORE_CLOSED", "the store is closed").Retry()
}

// why says in a few words what the database reports, and what to do about it.
func why(err error) string {
	switch s := state(err); {
	case s == "":
		return "the PostgreSQL server cannot be reached"
	case s == "53100":
		return "the disk of the PostgreSQL server is full; free some space"
	case s == "53300":
		return "the PostgreSQL server has no connection left; raise max_connections or use a pooler"
	case s == "25006":
		return "the PostgreSQL database is read-only; give the address of the primary"
	case s == "42501":
		return "the database gives this user too few rights; grant it SELECT, INSERT, UPDATE and DELETE on Cadre's tables"
	case s == "28P01" || s == "28000":
		return "the PostgreSQL server refuses the log-in; check user and password, and restart with the right ones"
	case s == "3D000":
		return "the PostgreSQL database does not exist any more; bring it back"
	case s == "57014" || s == "55P03":
		return "the PostgreSQL server took too long"
	case s == "22021" || s == "22P05":
		return "a text holds a NUL byte, which PostgreSQL cannot keep"
	case s[:2] == "57":
		return "the PostgreSQL server shuts down"
	default:
		return "the PostgreSQL server reports SQLSTATE " + s
	}
}

func writeFault(err error) error { return asFault(err, "STORE_WRITE_FAILED", "write") }

func readFault(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return sqldb.ErrNoRows
	}
	return asFault(err, "STORE_READ_FAILED", "read")
}

// asFault tells an error of the database. What is a fault already, or the end of the
// caller's context, stays what it is.
func asFault(err error, reason, verb string) error {
	var told *fault.Fault
	if err == nil || errors.As(err, &told) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.Unavailable, reason, "the store cannot %s: %s (`cadre doctor` says more)", verb, why(err)).Retry().Because(err)
}
