package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// unfolded is a data folder as a kill leaves it: newest commits are in the log beside the
// database alone. With change they are what it writes.
func unfolded(t *testing.T, change string) (dir string) {
	t.Helper()
	live, _ := filled(t)
	s, err := sqlite.Open(t.Context(), live)
	must(t, err)
	defer func() { _ = s.Close() }()
	must(t, s.SetBootState(t.Context(), "k", "v"))
	beside, err := sql.Open("sqlite", filepath.Join(live, sqlite.FileName))
	must(t, err)
	defer func() { _ = beside.Close() }()
	_, err = beside.ExecContext(t.Context(), change)
	must(t, err)
	dir = filepath.Join(t.TempDir(), "data")
	must(t, os.CopyFS(dir, os.DirFS(live)))
	must(t, os.Remove(filepath.Join(dir, sqlite.FileName+"-shm"))) // holds nothing but locks
	return dir
}

// contents are the files of a folder that hold what a database holds.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range []string{sqlite.FileName, sqlite.FileName + "-wal", sqlite.MarkName} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		if len(data) == 0 {
			t.Fatalf("%s is empty", name)
		}
		all[name] = data
	}
	return all
}

// A database that is refused stays as it is, byte for byte, with the log beside it.
func TestARefusedDatabaseIsNotChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason, change string
		hurt           func(t *testing.T, dir string)
	}{
		"newer": {"NEWER_SCHEMA", "INSERT INTO schema_version (version_id, is_applied) VALUES (999, 1)", nil},
		"damaged": {"STORE_DAMAGED", "INSERT INTO boot_state VALUES ('a', 'b')", func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.WriteFile(filepath.Join(dir, sqlite.FileName), bytes.Repeat([]byte("noise "), 3000), 0o600))
		}},
		"another": {"STORE_REPLACED", "UPDATE boot_state SET value = 'dbs_other' WHERE key = 'database_id'", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unfolded(t, c.change)
			if c.hurt != nil {
				c.hurt(t, dir)
			}
			before := contents(t, dir)
			_, looked := sqlite.Inspect(t.Context(), dir)
			_, _, _ = sqlite.Schemas(t.Context(), dir)
			s, opened := sqlite.Open(t.Context(), dir)
			if opened == nil {
				_ = s.Close()
			}
			for what, err := range map[string]error{"Inspect": looked, "Open": opened} {
				if fault.ReasonOf(err) != c.reason {
					t.Errorf("%s says %v, want %s", what, err, c.reason)
				}
			}
			for name, data := range contents(t, dir) {
				if !bytes.Equal(data, before[name]) {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}
