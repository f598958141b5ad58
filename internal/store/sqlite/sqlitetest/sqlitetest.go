// Package sqlitetest brings database files into states that tests of the whole need.
package sqlitetest

import (
	"database/sql"
	"errors"
	"path/filepath"

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
