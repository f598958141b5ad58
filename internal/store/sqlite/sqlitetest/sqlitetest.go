// Package sqlitetest brings database files into states that tests of the whole need.
package sqlitetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// FromTheFuture makes the database of a data folder, which no server holds, one of
// a release whose schema has this version.
func FromTheFuture(dir string, version int) error {
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlite.FileName))
	if err != nil {
		return err
	}
	_, err = db.Exec("INSERT INTO schema_version (version_id, is_applied) VALUES (?, 1)", version)
	return errors.Join(err, db.Close())
}

// Fresh is a new data folder of a test with an empty database in it. All that it gives are
// copies of one, so that the schema is made once for a whole package: their databases have
// the same identity.
func Fresh(t testing.TB) string {
	t.Helper()
	files, err := made()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// made holds the files of an empty database.
var made = sync.OnceValues(func() (files map[string][]byte, err error) {
	dir, err := os.MkdirTemp("", "cadre-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := sqlite.Open(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files = map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
})
