package postgres_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
)

// Health knows that writes are refused, before one was tried and afterwards, and says in
// one sentence why.
func TestHealthTellsWhyWritesAreRefused(t *testing.T) {
	t.Parallel()
	c := postgrestest.Start(t)
	for name, row := range map[string]struct{ refuse, allow, reason, says string }{
		"read-only": {
			"ALTER DATABASE %d SET default_transaction_read_only = on", "ALTER DATABASE %d RESET default_transaction_read_only", "STORE_READ_ONLY", "address of the primary",
		},
		"lacking rights": {
			"REVOKE INSERT ON events, sessions FROM %u", "GRANT INSERT ON events, sessions TO %u", "STORE_RIGHTS", "grant it SELECT, INSERT, UPDATE and DELETE",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := c.URL(t)
			if err := openURL(t, address).Close(); err != nil {
				t.Fatal(err)
			}
			database := strings.TrimPrefix(path(t, address), "/")
			user := "worker_" + database
			c.Admin(t, "CREATE USER "+user)
			exec(t, address, "GRANT ALL ON SCHEMA public TO "+user+"; GRANT ALL ON ALL TABLES IN SCHEMA public TO "+user+"; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO "+user)
			s := openURL(t, as(t, address, user, ""))
			if err := s.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
			set := func(statement string) {
				statement = strings.NewReplacer("%d", database, "%u", user).Replace(statement)
				if strings.HasPrefix(statement, "ALTER DATABASE") {
					c.Admin(t, statement)
				} else {
					exec(t, address, statement)
				}
				c.Admin(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+user+"'")
			}
			set(row.refuse)
			err := s.Health(t.Context())
			if fault.ReasonOf(err) != row.reason || !strings.Contains(err.Error(), row.says) || strings.Contains(fault.From(err).Message, "\n") {
				t.Errorf("health gave %v, want %s with %q", err, row.reason, row.says)
			}
			set(row.allow)
			if err := s.Health(t.Context()); err != nil {
				t.Errorf("after it was allowed again health gave %v", err)
			}
		})
	}
}

// The tables whose rights Health looks at are those of the schema.
func TestHealthKnowsAllTables(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).URL(t)
	openURL(t, address)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'schema_version' ORDER BY tablename")
	if err != nil {
		t.Fatal(err)
	}
	has, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !slices.Equal(has, postgres.Tables) {
		t.Errorf("the schema has the tables %q (%v), and health knows %q", has, err, postgres.Tables)
	}
}

// A log-in that is refused under a running server is told as that.
func TestARefusedLogInUnderARunningServerIsTold(t *testing.T) {
	t.Parallel()
	c := postgrestest.Start(t)
	address := c.URL(t)
	c.Admin(t, "CREATE USER fired SUPERUSER")
	s := openURL(t, as(t, address, "fired", ""))
	c.Admin(t, "ALTER USER fired NOLOGIN")
	c.Admin(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fired'")
	err := s.Health(t.Context())
	if err == nil || !strings.Contains(err.Error(), "refuses the log-in") {
		t.Errorf("health gave %v", err)
	}
	if u, _ := url.Parse(address); strings.Contains(fault.From(err).Message, u.Host) {
		t.Errorf("health tells the address: %v", err)
	}
}
