package temporal

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// longestCheck bounds how long a start looks for damage.
const longestCheck = 100 * time.Millisecond

// damage looks into a file for as long as a start may take.
func damage(path string) error {
	if _, err := os.Stat(path); err != nil {
		return errors.New("the file is missing")
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_master WHERE type = 'table'").Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		return errors.New("the file is empty")
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestCheck)
	defer cancel()
	var verdict string
	switch err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); {
	case ctx.Err() != nil:
		return nil // none was found in the time
	case err != nil:
		return err
	case verdict != "ok":
		return errors.New(verdict)
	}
	return nil
}

// dsn is how database/sql opens a file.
func dsn(path string) string { return "file:" + escaped(path) }

// escaped makes a path part of an URI.
func escaped(path string) string { return (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() }
