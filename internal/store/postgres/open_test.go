package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
)

// as is the address with another user and password.
func as(t *testing.T, address, user, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

func TestWhatCannotBeOpenedIsToldInOneSentence(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-and-more"
	c := postgrestest.Shared(t)
	if c.Given() {
		t.Skip("the users and databases of this test are made on a server of its own")
	}
	good := c.URL(t)
	c.Admin(t, "CREATE USER "+postgrestest.Guarded+" PASSWORD '"+secret+"'")
	c.Admin(t, "CREATE USER poor")
	latin := c.URL(t, "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	frozen := c.URL(t)
	c.Admin(t, "ALTER DATABASE "+strings.TrimPrefix(path(t, frozen), "/")+" SET default_transaction_read_only = on")
	for name, row := range map[string]struct{ url, reason, says string }{
		"no address":     {"mysql://root:" + secret + "@localhost/db", "STORE_URL_INVALID", "postgres://"},
		"words":          {"my database", "STORE_URL_INVALID", "postgres://"},
		"a bad port":     {"postgres://u:" + secret + "@localhost:port/db", "STORE_URL_INVALID", "postgres://"},
		"unreachable":    {"postgres://u:" + secret + "@127.0.0.1:1/db", "STORE_OPEN_FAILED", "cannot be reached"},
		"no TLS":         {good + "?sslmode=require", "STORE_OPEN_FAILED", "sslmode"},
		"wrong password": {as(t, good, postgrestest.Guarded, secret+"x"), "STORE_OPEN_FAILED", "refuses the log-in"},
		"no such user":   {as(t, good, "nobody-here", secret), "STORE_OPEN_FAILED", "refuses the log-in"},
		"no database":    {c.Named("not_there"), "STORE_OPEN_FAILED", "does not exist"},
		"lacking rights": {as(t, good, "poor", secret), "STORE_OPEN_FAILED", "no right to create tables"},
		"wrong encoding": {latin, "STORE_OPEN_FAILED", "LATIN1"},
		"read-only":      {frozen, "STORE_READ_ONLY", "the primary"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := postgres.Open(t.Context(), postgres.Options{URL: row.url})
			if fault.ReasonOf(err) != row.reason || !strings.Contains(err.Error(), row.says) {
				t.Fatalf("got %v, want %s with %q", err, row.reason, row.says)
			}
			if said := fault.From(err).Message; strings.Contains(said, secret) || strings.Contains(said, "\n") || strings.Count(said, ". ") > 0 {
				t.Errorf("it is not one sentence without the password: %q", said)
			}
			if _, err := postgres.Inspect(t.Context(), row.url); fault.ReasonOf(err) != row.reason {
				t.Errorf("Inspect gave %v, want %s", err, row.reason)
			}
		})
	}
}

func path(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}

// exec runs a statement on a database, beside the store.
func exec(t *testing.T, address, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).URL(t)
	if err := openURL(t, address).Close(); err != nil {
		t.Fatal(err)
	}
	found, err := postgres.Inspect(t.Context(), address)
	if err != nil || !found.Exists || found.Schema != found.Release {
		t.Errorf("Inspect found %+v, %v", found, err)
	}
	exec(t, address, "INSERT INTO schema_version (version_id, is_applied) VALUES (999, true)")
	if _, err := postgres.Open(t.Context(), postgres.Options{URL: address}); !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), "v999") {
		t.Errorf("got %v, want the refusal of v999", err)
	}
	if _, err := postgres.Inspect(t.Context(), address); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("Inspect gave %v", err)
	}
}

// Several servers that start at once on an empty database make its schema once.
func TestServersThatStartAtOnceMakeTheSchemaOnce(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).URL(t)
	errs := make(chan error)
	for range 6 {
		go func() {
			s, err := postgres.Open(t.Context(), postgres.Options{URL: address})
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestATextThatCannotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	err := open(t).SetBootState(t.Context(), "k", "a\x00b")
	if err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("a text with a NUL byte gave %v", err)
	}
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	t.Parallel()
	s := openURL(t, postgrestest.Shared(t).URL(t))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.SetBootState(t.Context(), "k", "v"); fault.ReasonOf(err) != "STORE_CLOSED" {
		t.Errorf("a write gave %v", err)
	}
	if _, err := s.BootState(t.Context(), "k"); fault.ReasonOf(err) != "STORE_CLOSED" {
		t.Errorf("a read gave %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close gave %v", err)
	}
}

// C103
func TestTheEnvironmentChoosesTheDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env    map[string]string
		url    string
		direct string
	}{
		"nothing":  {nil, "", ""},
		"ours":     {map[string]string{"CADRE_DATABASE_URL": "postgres://a/1", "DATABASE_URL": "postgres://b/2"}, "postgres://a/1", ""},
		"fallback": {map[string]string{"DATABASE_URL": "postgres://b/2", "CADRE_DATABASE_DIRECT_URL": "postgres://c/3"}, "postgres://b/2", "postgres://c/3"},
	} {
		o := postgres.FromEnv(func(name string) string { return c.env[name] })
		if o.URL != c.url || o.Direct != c.direct {
			t.Errorf("%s: got %+v", name, o)
		}
	}
}
