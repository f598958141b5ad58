package sqlite_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// update writes the fixture of the newest schema anew. A schema that was released is
// never written again: its fixture stays as that release made it.
var update = flag.Bool("update", false, "write testdata/vN.db of the newest schema")

func newestSchema(t *testing.T) int64 {
	t.Helper()
	steps, err := sqlite.Chain()
	if err != nil {
		t.Fatal(err)
	}
	return steps[len(steps)-1].Version
}

func fixturePath(version int64) string {
	return filepath.Join("testdata", fmt.Sprintf("v%d.db", version))
}

// released is the folder of a copy of a database that the release with this schema
// wrote: an agent, a turn that completed, one that was running when its server was
// killed, and an input behind it.
func released(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sqlite.FileName), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openIn(t *testing.T, dir string) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// C115; Reliability line 15: a database of each released schema works, and its turn in
// flight goes on.
func TestReleasedSchemasOpenAndLoseNoTurn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "v*.db"))
	if err != nil || len(files) < 2 {
		t.Fatalf("the fixtures are %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			var version int64
			if _, err := fmt.Sscanf(filepath.Base(file), "v%d.db", &version); err != nil {
				t.Fatal(err)
			}
			storetest.ReadRelease(t, openIn(t, released(t, file)), version >= history)
		})
	}
}

// The newest schema has a fixture, and the fixture has the schema that this release
// makes: a step that was released is not changed, and one that was not is frozen.
func TestTheNewestSchemaIsFrozen(t *testing.T) {
	t.Parallel()
	fresh := t.TempDir()
	s := openIn(t, fresh)
	storetest.WriteRelease(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := fixturePath(newestSchema(t))
	if *update {
		data, err := os.ReadFile(filepath.Join(fresh, sqlite.FileName))
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the newest schema has no fixture: run this test with -update (%v)", err)
	}
	if was, is := schema(t, released(t, path)), schema(t, fresh); !slices.Equal(was, is) {
		t.Errorf("the schema is another one than that of %s: add a step, or run this test with -update when no release made it yet\nwas %s\nis  %s",
			path, strings.Join(was, "\n    "), strings.Join(is, "\n    "))
	}
}

// schema are the statements that make a database.
func schema(t *testing.T, dir string) (all []string) {
	t.Helper()
	db, err := sqlite.Raw(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.Query("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
