// Package sqlitetest brings database files into states that tests of the whole need.
package sqlitetest

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// FromTheFuture makes the database of a data folder, which no server holds, one of
// a release whose schema has this version.
func FromTheFuture(t testing.TB, dir string, version int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlite.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO schema_version (version_id, is_applied) VALUES (?, 1)", version); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
