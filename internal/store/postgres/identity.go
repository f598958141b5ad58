package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
)

// identityKey is the fact of a database that tells it from all others. It goes with a dump.
const identityKey = "database_id"

// errReplaced: what the address leads to now is not the database that was opened.
var errReplaced = fault.New(fault.FailedPrecondition, "STORE_REPLACED",
	"the PostgreSQL database is not the one that this server was started on: it was replaced, or the address leads to another one, and nothing is written to it; give the old one back, or restart the server to go on with this one")

// identify reads which database this is, and gives it an id the first time.
func (d *database) identify(ctx context.Context) error {
	if _, err := d.pool.Exec(ctx, "INSERT INTO boot_state (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING", identityKey, id.New("dbs")); err != nil {
		return writeFault(err)
	}
	var is string
	if err := d.pool.QueryRow(ctx, "SELECT value FROM boot_state WHERE key = $1", identityKey).Scan(&is); err != nil {
		return readFault(err)
	}
	d.id.Store(is)
	return nil
}

// same refuses a new connection that leads to another database than the first one did.
func (d *database) same(ctx context.Context, conn *pgx.Conn) error {
	want, known := d.id.Load().(string)
	if !known {
		return nil
	}
	var is string
	switch err := conn.QueryRow(ctx, "SELECT value FROM boot_state WHERE key = $1", identityKey).Scan(&is); {
	case errors.Is(err, pgx.ErrNoRows), err == nil && is != want, state(err) == noTable:
		return errReplaced
	default:
		return err
	}
}

// noTable is what PostgreSQL says of a table that is not there.
const noTable = "42P01"

// begin opens a transaction on the database that was opened, and on no other: one may be
// replaced while its connections stay.
func (d *database) begin(ctx context.Context, conn *pgx.Conn, p *slot) error {
	results, err := conn.PgConn().Exec(ctx, p.begin(d.id.Load().(string))).ReadAll()
	switch {
	case err == nil && results[len(results)-1].CommandTag.RowsAffected() == 1:
		return nil
	case err == nil, state(err) == noTable:
		_, _ = conn.Exec(ctx, "ROLLBACK", pgx.QueryExecModeSimpleProtocol)
		return errReplaced
	}
	return err
}
