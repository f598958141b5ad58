package postgres_test

import (
	"flag"
	"fmt"
	"os"
	command "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// update writes the fixture of the newest schema anew. A schema that was released is
// never written again: its fixture stays as that release made it.
var update = flag.Bool("update", false, "write testdata/vN.sql of the newest schema")

// C115: a database of each released schema works, and its turn in flight goes on.
func TestReleasedSchemasOpenAndLoseNoTurn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "v*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the fixtures are %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			storetest.ReadRelease(t, openURL(t, restored(t, file)), true)
		})
	}
}

// restored is a database of its own with what a dump holds.
func restored(t *testing.T, file string) string {
	t.Helper()
	dump, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	url := postgrestest.Shared(t).URL(t)
	if _, err := connection(t, url).Exec(t.Context(), string(dump), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return url
}

// The newest schema has a fixture, and the fixture has the schema that this release
// makes: a step that was released is not changed, and one that was not is frozen.
func TestTheNewestSchemaIsFrozen(t *testing.T) {
	t.Parallel()
	fresh := postgrestest.Shared(t).URL(t)
	s := openURL(t, fresh)
	chain := wholeChain(t)
	path := filepath.Join("testdata", fmt.Sprintf("v%d.sql", chain[len(chain)-1]))
	if *update {
		storetest.WriteRelease(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, dump(t, fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the newest schema has no fixture: run this test with -update (%v)", err)
	}
	if was, is := schema(t, restored(t, path)), schema(t, fresh); !slices.Equal(was, is) {
		t.Errorf("the schema is another one than that of %s: add a step, or run this test with -update when no release made it yet\nwas %s\nis  %s",
			path, strings.Join(was, "\n    "), strings.Join(is, "\n    "))
	}
}

// psqlOnly are the lines of a dump that only psql or a server as new as the dumper
// understands, and those that tell versions.
var psqlOnly = regexp.MustCompile(`(?m)^(\\.*|SET transaction_timeout.*|-- Dumped .*)\n`)

// dump is a database as SQL, made by its own tool.
func dump(t *testing.T, url string) []byte {
	t.Helper()
	tool, err := command.LookPath("pg_dump")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
		if len(found) == 0 {
			t.Fatal("pg_dump was not found: install the package postgresql-client")
		}
		tool = slices.Max(found)
	}
	out, err := command.CommandContext(t.Context(), tool, "--no-owner", "--no-privileges", "--inserts", "--dbname="+url).Output()
	if err != nil {
		t.Fatal(err)
	}
	return psqlOnly.ReplaceAll(out, nil)
}

// schema are the columns and indexes of a database.
func schema(t *testing.T, url string) []string {
	t.Helper()
	rows, err := connection(t, url).Query(t.Context(), `SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || coalesce(collation_name, '') || ' ' || is_nullable || ' ' || coalesce(column_default, '')
		FROM information_schema.columns WHERE table_schema = 'public' UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}
