package postgres_test

import (
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// replaced proves that a store refuses to write to what is not its database, and says so.
func replaced(t *testing.T, s *postgres.Store) {
	t.Helper()
	err := s.SetBootState(t.Context(), "k", "v")
	if fault.ReasonOf(err) != "STORE_REPLACED" || strings.Contains(err.Error(), "\n") {
		t.Errorf("a write gave %v", err)
	}
	if err := s.Health(t.Context()); fault.ReasonOf(err) != "STORE_REPLACED" {
		t.Errorf("health gave %v", err)
	}
}

// A database whose place another one takes while a server runs gets none of its writes.
func TestADatabaseThatWasReplacedGetsNoWrites(t *testing.T) {
	t.Parallel()
	c := postgrestest.Start(t)
	for name, replace := range map[string]func(t *testing.T, mine string){
		"another of ours": func(t *testing.T, mine string) {
			t.Helper()
			other := c.URL(t)
			if err := openURL(t, other).Close(); err != nil {
				t.Fatal(err)
			}
			exchange(t, c, mine, other)
		},
		"an empty one": func(t *testing.T, mine string) {
			t.Helper()
			exchange(t, c, mine, c.URL(t))
		},
		"other rows on the same connections": func(t *testing.T, mine string) {
			t.Helper()
			exec(t, mine, "UPDATE boot_state SET value = 'dbs_other' WHERE key = 'database_id'")
		},
		"no tables on the same connections": func(t *testing.T, mine string) {
			t.Helper()
			exec(t, mine, "ALTER TABLE boot_state RENAME TO something_else")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine := c.URL(t)
			s := openURL(t, mine)
			if err := s.SetBootState(t.Context(), "k", "mine"); err != nil {
				t.Fatal(err)
			}
			replace(t, mine)
			replaced(t, s)
			if again, err := postgres.Open(t.Context(), postgres.Options{URL: mine}); err == nil { // a new start takes it as it is
				if said, err := again.BootState(t.Context(), "k"); err != nil || said == "v" {
					t.Errorf("it was written to: %q, %v", said, err)
				}
				_ = again.Close()
			} else if name != "no tables on the same connections" {
				t.Error(err)
			}
		})
	}
}

// exchange gives a database the name of another one, which ends its connections.
func exchange(t *testing.T, c *postgrestest.Cluster, mine, other string) {
	t.Helper()
	old, is := strings.TrimPrefix(path(t, mine), "/"), strings.TrimPrefix(path(t, other), "/")
	c.Admin(t, "DROP DATABASE "+old+" WITH (FORCE)")
	c.Admin(t, "ALTER DATABASE "+is+" RENAME TO "+old)
}

// A dump that is restored is the same database: a server that runs goes on with it.
func TestADatabaseThatWasRestoredIsTheSame(t *testing.T) {
	t.Parallel()
	c := postgrestest.Start(t)
	mine, copied := c.URL(t), c.URL(t)
	s := openURL(t, mine)
	running := storetest.Running(t, s)
	dump := filepath.Join(t.TempDir(), "dump.sql")
	for _, line := range [][]string{{"pg_dump", "--file=" + dump, mine}, {"psql", "--quiet", "--file=" + dump, copied}} {
		if out, err := tool(t, line...); err != nil {
			t.Fatalf("%v: %v\n%s", line, err, out)
		}
	}
	exchange(t, c, mine, copied)
	if err := s.Append(t.Context(), running.Fence, []*eventv1.Event{event.New(time.Unix(1, 0), &eventv1.AgentMessageDelta{Text: "x"})}); err != nil {
		t.Error(err)
	}
}

// tool runs one of PostgreSQL's own tools, which lie beside its server.
func tool(t *testing.T, line ...string) ([]byte, error) {
	t.Helper()
	name := line[0]
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); len(found) > 0 {
		name = found[len(found)-1]
	}
	if _, err := osexec.LookPath(name); err != nil {
		t.Skipf("no %s", line[0])
	}
	return osexec.CommandContext(t.Context(), name, line[1:]...).CombinedOutput()
}
