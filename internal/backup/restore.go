package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// Target is where a backup is restored to.
type Target struct {
	Dir   string      // the data folder; it is made when it is not there
	Force bool        // set a database aside that the folder has
	Store string      // the database driver's name
	Files store.Files // zero when the database lies elsewhere
	// Artifacts opens the data folder's artifact store.
	Artifacts func(ctx context.Context, dir string) (artifact.Store, error)
	// Derived are files and folders that were made from the database that was there,
	// and that are set aside with it.
	Derived []string
	Now     time.Time
}

// Restored says what came of it.
type Restored struct {
	Manifest
	Aside   string   // where the old database is; "" when there was none
	Missing []string // keys that the folder does not have
	Differ  []string // keys that are others than those of the backup
}

// stagePrefix begins the folders in which restores are prepared.
const stagePrefix = ".restore-"

// Restore brings a backup into a data folder. Everything is checked before the first
// change, and the database changes last and at once.
func Restore(ctx context.Context, file string, t Target) (r Restored, err error) {
	if r.Manifest, err = Verify(ctx, file); err != nil {
		return r, err
	}
	if err := t.fits(r.Manifest); err != nil {
		return r, err
	}
	if err := config.Prepare(t.Dir); err != nil {
		return r, err
	}
	lock, err := config.Acquire(t.Dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if r.Schema > 0 && t.Files.Present(t.Dir) && !t.Force {
		return r, fault.New(fault.FailedPrecondition, "DATABASE_PRESENT",
			"the data folder %s has a database already: name another folder with --data, or set the old one aside with --force, which deletes nothing", t.Dir)
	}
	if err := room(t.Dir, r.Bytes()); err != nil {
		return r, err
	}
	stage, err := t.stage()
	if err != nil {
		return r, cannotRestore(t.Dir, err)
	}
	defer func() { _ = os.RemoveAll(stage) }()
	if err := t.unpack(ctx, file, stage); err != nil {
		return r, cannotRestore(t.Dir, err)
	}
	if r.Schema > 0 {
		if err := t.sound(ctx, stage); err != nil {
			return r, err
		}
	}
	if r.Aside, err = t.exchange(ctx, r.Manifest, stage); err != nil {
		return r, cannotRestore(t.Dir, err)
	}
	r.Missing, r.Differ, err = compareKeys(t.Dir, r.Keys)
	return r, err
}

// fits refuses a backup of another kind of database.
func (t Target) fits(m Manifest) error {
	if m.Store == t.Store {
		return nil
	}
	return fault.New(fault.FailedPrecondition, "OTHER_STORE",
		"this backup is of a %s database, and %s is used here: set or unset CADRE_DATABASE_URL so that both are the same", m.Store, t.Store)
}

// room refuses to begin what the disk has no space for.
func room(dir string, need int64) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return nil // a disk that does not tell says so when it is full
	}
	if free := st.Bavail * uint64(st.Bsize); uint64(need) > free {
		return fault.New(fault.ResourceExhausted, "DISK_FULL", "it needs %d MiB and the disk of %s has %d MiB free: free some space, or name another folder with --data", need>>20+1, dir, free>>20)
	}
	return nil
}

// stage makes a folder beside what will be replaced, and removes those that restores
// which were killed left: nobody else works in the data folder now.
func (t Target) stage() (string, error) {
	left, _ := filepath.Glob(filepath.Join(t.Dir, stagePrefix+"*"))
	for _, d := range left {
		_ = os.RemoveAll(d)
	}
	return os.MkdirTemp(t.Dir, stagePrefix)
}

// unpack writes database and settings into the stage and gives the artifacts to their
// store, where more than before harms nobody.
func (t Target) unpack(ctx context.Context, file, stage string) error {
	root, err := os.OpenRoot(stage)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	kept, err := t.Artifacts(ctx, t.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = kept.Close() }()
	_, err = walk(ctx, file, func(Manifest) error { return nil }, func(m Member, r io.Reader) error {
		switch {
		case m.artifact():
			_, err := kept.Put(ctx, r)
			return err
		case m.Name == databaseName:
			return write(root, t.Files.Name, r)
		}
		return write(root, m.setting(), r)
	})
	return err
}

// write makes a file of the stage, durably.
func write(root *os.Root, name string, r io.Reader) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, r); err != nil {
		return err
	}
	return f.Sync()
}

// sound looks into the database before it is used.
func (t Target) sound(ctx context.Context, stage string) error {
	found, err := t.Files.Inspect(ctx, stage)
	switch {
	case errors.Is(err, store.ErrNewerSchema):
		return store.ErrNewerSchema.Saying("this backup's database has schema v%d and this cadre knows up to v%d: use the cadre that made it, or a newer one", found.Schema, found.Release)
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return altered("its database is damaged").Because(err)
	}
	return nil
}

// exchange sets aside what was there and puts the backup's in its place. It answers
// where the old is, "" when there was nothing.
func (t Target) exchange(ctx context.Context, m Manifest, stage string) (string, error) {
	aside, err := t.asideFolder()
	if err != nil {
		return "", err
	}
	if err := t.begun(); err != nil {
		return "", err
	}
	for _, f := range m.Members {
		if name := f.setting(); name != "" {
			if err := swap(filepath.Join(stage, name), filepath.Join(t.Dir, name), filepath.Join(aside, name)); err != nil {
				return "", err
			}
		}
	}
	if m.Schema > 0 {
		for _, name := range t.Derived {
			if err := away(filepath.Join(t.Dir, name), filepath.Join(aside, name)); err != nil {
				return "", err
			}
		}
		if err := t.Files.Adopt(ctx, t.Dir, filepath.Join(stage, t.Files.Name), aside); err != nil {
			return "", err
		}
	}
	if err := os.Remove(filepath.Join(t.Dir, BegunName)); err != nil {
		return "", err
	}
	if os.Remove(aside) == nil { // it is empty
		return "", nil
	}
	return aside, nil
}

// asideFolder makes a new folder for what is replaced.
func (t Target) asideFolder() (string, error) {
	name := filepath.Join(t.Dir, "replaced-"+t.Now.UTC().Format("20060102T150405Z"))
	for n := 2; ; n++ {
		err := os.Mkdir(name, 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		name = fmt.Sprintf("%s-%d", strings.TrimSuffix(name, fmt.Sprintf("-%d", n-1)), n)
	}
}

func swap(from, to, aside string) error {
	if err := away(to, aside); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func away(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// compareKeys says which keys of the backup the folder lacks, and which are others.
func compareKeys(dir string, keys []Key) (missing, differ []string, err error) {
	for _, k := range keys {
		if strings.ContainsAny(k.Name, `/\`) {
			continue // nothing that a backup of ours names
		}
		has, err := config.Fingerprint(dir, k.Name)
		switch {
		case err != nil:
			return nil, nil, err
		case has == "":
			missing = append(missing, k.Name)
		case has != k.Fingerprint:
			differ = append(differ, k.Name)
		}
	}
	return missing, differ, nil
}

// cannotRestore says why, unless the error says so itself.
func cannotRestore(dir string, err error) error {
	var f *fault.Fault
	switch {
	case errors.As(err, &f) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.New(fault.ResourceExhausted, "DISK_FULL", "the disk of %s is full, and the database that was there is as it was: free some space and restore again", dir).Because(err)
	}
	return fault.New(fault.FailedPrecondition, "RESTORE_FAILED", "the backup cannot be restored into %s (%s): restore again, or into another folder with --data", dir, word(err)).Because(err)
}
