package temporal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"go.temporal.io/server/common/headers"
	sqliteschema "go.temporal.io/server/schema/sqlite"

	"github.com/cadre-dev/cadre/internal/id"
)

// folder is where an engine keeps its memory. It is a cache: files that this
// program cannot use are set aside and made anew, under another id.
type folder struct {
	dir       string
	namespace string // that its files are made with
	log       *slog.Logger
	lock      *flock.Flock
	mark      mark
}

// mark says what the files in a folder are. It is written when they are complete.
type mark struct {
	ID     string `json:"id"`
	Server string `json:"server"`
	Schema string `json:"schema"`
	Layout int    `json:"layout"` // of this package, raised when its settings do not fit older files
}

const (
	mainFile = "engine.db"
	markFile = "engine.json"
	lockFile = "engine.lock"
	layout   = 1
)

// errInUse says that another process works on the folder.
var errInUse = errors.New("engine: another process uses the folder")

func currentMark() mark {
	return mark{Server: headers.ServerVersion, Schema: sqliteschema.Version, Layout: layout}
}

// openFolder locks the folder, sets aside what it cannot use and makes what is
// missing. close releases it.
func openFolder(dir, namespace string, log *slog.Logger) (*folder, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		aside := dir + asideSuffix()
		log.Warn("what stands in the place of the engine's folder is set aside", "path", dir, "aside", aside)
		if err := os.Rename(dir, aside); err != nil {
			return nil, fmt.Errorf("engine: set aside what stands in the place of the folder: %w", err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("engine: make the folder: %w", err)
	}
	f := &folder{dir: dir, namespace: namespace, log: log, lock: flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))}
	switch held, err := f.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("engine: lock the folder: %w", err)
	case !held:
		return nil, errInUse
	}
	if err := f.prepare(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *folder) close() error { return f.lock.Unlock() }

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// prepare leaves complete files of this version in the folder.
func (f *folder) prepare() error {
	why := f.unusable()
	if why == nil {
		return nil
	}
	if !errors.Is(why, fs.ErrNotExist) {
		if err := f.setAside(why); err != nil {
			return err
		}
	}
	return f.create()
}

// renew replaces files that the server does not start over.
func (f *folder) renew(why error) error {
	if err := f.setAside(why); err != nil {
		return err
	}
	return f.create()
}

// unusable is nil when the files can be used, and wraps fs.ErrNotExist when there
// is nothing to set aside.
func (f *folder) unusable() error {
	raw, err := os.ReadFile(f.path(markFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, exists := os.Stat(f.path(mainFile)); exists == nil {
			return errors.New("its making was not completed")
		}
		return err
	}
	if err != nil {
		return err
	}
	var found mark
	if err := json.Unmarshal(raw, &found); err != nil || found.ID == "" {
		return errors.New("its mark cannot be read")
	}
	want := currentMark()
	want.ID = found.ID
	if found != want {
		return fmt.Errorf("it was made by server %s with schema %s", found.Server, found.Schema)
	}
	if err := damage(f.path(mainFile)); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	f.mark = found
	return nil
}

// asideSuffix is the end of the names of files that are set aside now.
func asideSuffix() string { return ".aside-" + time.Now().UTC().Format("20060102T150405.000000000Z") }

// setAside renames all files, so that nothing is lost that a person may want.
func (f *folder) setAside(why error) error {
	suffix := asideSuffix()
	f.log.Warn("engine files set aside and rebuilt", "why", why, "folder", f.dir, "suffix", suffix)
	for _, name := range []string{markFile, mainFile, mainFile + "-wal", mainFile + "-shm"} {
		from := f.path(name)
		if err := os.Rename(from, from+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("engine: set the files aside: %w", err)
		}
	}
	return nil
}

// create makes the file with its schema and then marks it.
func (f *folder) create() error {
	if err := createFile(f.path(mainFile), f.namespace); err != nil {
		return err
	}
	m := currentMark()
	m.ID = id.New("eng")
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	next := f.path(markFile + ".next")
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return fmt.Errorf("engine: mark the file: %w", err)
	}
	if err := os.Rename(next, f.path(markFile)); err != nil {
		return fmt.Errorf("engine: mark the file: %w", err)
	}
	f.mark = m
	return nil
}
