package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
)

// oldFolder is a data folder with the database of the first release.
func oldFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("..", "store", "sqlite", "testdata", "v1.db"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, sqlite.FileName), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnOldDatabaseIsToldAndBroughtUpToDate(t *testing.T) {
	t.Parallel()
	dir := oldFolder(t)
	s, err := Migrate(t.Context(), dir, false)
	if err != nil || s.Version != 1 || len(s.Pending) == 0 || s.Pending[0].Version != 2 || s.Pending[0].Name != "usage" || s.Release != s.Pending[len(s.Pending)-1].Version {
		t.Fatalf("the status is %+v, %v", s, err)
	}
	pending := len(s.Pending)
	again, err := Migrate(t.Context(), dir, false)
	if err != nil || again.Version != 1 {
		t.Errorf("a look changed the schema: %+v, %v", again, err)
	}
	s, err = Migrate(t.Context(), dir, true)
	if err != nil || s.Version != s.Release || len(s.Applied) != pending || len(s.Pending) != 0 {
		t.Errorf("after the migration the status is %+v, %v", s, err)
	}
	if has, _, err := schemaOfFile(t, s.Copy); err != nil || has != 1 {
		t.Errorf("the copy %q has the schema v%d, %v", s.Copy, has, err)
	}
	s, err = Migrate(t.Context(), dir, true)
	if err != nil || len(s.Applied) != 0 || s.Copy != "" {
		t.Errorf("a second migration did %+v, %v", s, err)
	}
}

func TestADatabaseThatIsHeldOrNewerIsNotMigrated(t *testing.T) {
	t.Parallel()
	dir := oldFolder(t)
	lock, err := config.Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, up := range []bool{false, true} {
		if _, err := Migrate(t.Context(), dir, up); fault.ReasonOf(err) != "DATA_FOLDER_HELD" {
			t.Errorf("with a server on the folder (up: %v) it gave %v", up, err)
		}
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if err := sqlitetest.FromTheFuture(dir, 999); err != nil {
		t.Fatal(err)
	}
	for _, up := range []bool{false, true} {
		if _, err := Migrate(t.Context(), dir, up); fault.ReasonOf(err) != "NEWER_SCHEMA" {
			t.Errorf("of a newer release (up: %v) it gave %v", up, err)
		}
	}
}

// schemaOfFile is the schema of a database in a file of any name.
func schemaOfFile(t *testing.T, path string) (has, release int64, err error) {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	if err := os.WriteFile(filepath.Join(dir, sqlite.FileName), data, 0o600); err != nil {
		return 0, 0, err
	}
	return sqlite.Schemas(t.Context(), dir)
}
