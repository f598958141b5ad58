package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Bounds of a connection.
const (
	connectTime = 10 * time.Second
	mostConns   = 16 // unless the address says pool_max_conns
	oldest      = 130000
)

// connect makes the pool. An address is never repeated in an error: it may hold a
// password. Each new connection is shown to check, when there is one.
func connect(ctx context.Context, url string, check func(context.Context, *pgx.Conn) error) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil || !strings.Contains(url, "=") && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, badURL()
	}
	if !strings.Contains(url, "pool_max_conns") {
		c.MaxConns = mostConns
	}
	c.ConnConfig.ConnectTimeout = connectTime
	// Descriptions of statements are kept and no prepared statements, which a pooler
	// would give to other clients.
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	c.ConnConfig.RuntimeParams["application_name"] = "cadre"
	c.AfterConnect = check
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), c)
	if err != nil {
		return nil, badURL()
	}
	try, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := pool.Ping(try); err != nil {
		pool.Close()
		return nil, openFault(place(c.ConnConfig), err)
	}
	return pool, nil
}

func badURL() *fault.Fault {
	return fault.New(fault.InvalidArgument, "STORE_URL_INVALID",
		"CADRE_DATABASE_URL (or DATABASE_URL, which counts when that one is not set) is no address of a PostgreSQL database: write it as postgres://user:password@host:5432/database")
}

// place is what people call a database, without secrets.
func place(c *pgx.ConnConfig) string {
	return fmt.Sprintf("database %q at %s (user %q)", c.Database, net.JoinHostPort(c.Host, fmt.Sprint(c.Port)), c.User)
}

// Place is what people call the database at an address: its name and where it is, without
// user and password. An address that is none gives "".
func Place(url string) string {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("database %q at %s", c.Database, net.JoinHostPort(c.Host, fmt.Sprint(c.Port)))
}

// openFault says what keeps a database from being used.
func openFault(where string, err error) error {
	say := func(format string, args ...any) error {
		return fault.New(fault.FailedPrecondition, "STORE_OPEN_FAILED", "the PostgreSQL "+where+" "+format, args...).Because(err)
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) && strings.Contains(err.Error(), "tls error") {
		return say("does not make the TLS connection that sslmode asks for: check sslmode, and the certificates on both sides")
	}
	if !errors.As(err, &pg) {
		return say("cannot be reached: check host and port, and that the server runs")
	}
	switch pg.Code {
	case "28P01", "28000":
		return say("refuses the log-in: check user and password, and the server's pg_hba.conf")
	case "3D000":
		return say("does not exist: create it (`createdb`), or correct the name")
	case "42501":
		return say("gives this user too few rights: grant it CONNECT on the database and USAGE and CREATE on its schema")
	case "53300":
		return say("has no connection left: raise max_connections, or use a pooler")
	case "57P03":
		return say("is starting up or shutting down: try again in a moment")
	case "25006":
		return replica().Because(err)
	}
	return say("cannot be used (SQLSTATE %s)", pg.Code)
}

func replica() *fault.Fault {
	return fault.New(fault.FailedPrecondition, "STORE_READ_ONLY",
		"the PostgreSQL database is read-only (a replica, or default_transaction_read_only is on): give the address of the primary")
}

// usable checks what Cadre needs of a database.
func usable(ctx context.Context, pool *pgxpool.Pool) error {
	var version int
	var encoding, schema string
	var standby, readOnly, create bool
	err := pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery(),
		current_setting('transaction_read_only') = 'on', coalesce(current_schema(), ''),
		coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)`).
		Scan(&version, &encoding, &standby, &readOnly, &schema, &create)
	where := place(pool.Config().ConnConfig)
	switch {
	case err != nil:
		return openFault(where, err)
	case version < oldest:
		return fault.New(fault.FailedPrecondition, "STORE_OPEN_FAILED", "the PostgreSQL %s is version %d: Cadre needs 13 or newer", where, version/10000)
	case encoding != "UTF8":
		return fault.New(fault.FailedPrecondition, "STORE_OPEN_FAILED",
			"the PostgreSQL %s has the encoding %s: create one with UTF8 (`createdb --encoding UTF8 --template template0`)", where, encoding)
	case standby || readOnly:
		return replica()
	case schema == "" || !create:
		return fault.New(fault.FailedPrecondition, "STORE_OPEN_FAILED",
			"the PostgreSQL %s gives this user no right to create tables: grant it USAGE and CREATE on a schema of its search_path", where)
	}
	return nil
}
