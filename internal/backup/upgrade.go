package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// EnvUpgrade turns off the copy before a migration, for a disk that has no room for it.
const EnvUpgrade = "CADRE_BACKUP_BEFORE_MIGRATION"

const (
	// Folder is where copies that were made before a migration lie, below the data folder.
	Folder = "backups"
	// keptCopies is how many of them stay.
	keptCopies = 3
)

// Upgrade is a migration that a start is about to make.
type Upgrade struct {
	From, To int64
	Copy     string // the copy of the database before it
}

// BeforeMigration copies the database of a data folder, which the caller holds, when
// this release has a newer schema, and keeps the newest three copies. u is nil when
// there is nothing to migrate or to copy. Without a copy the start must not go on.
func BeforeMigration(ctx context.Context, dir string, f store.Files, env func(string) string, now time.Time) (u *Upgrade, err error) {
	has, release, err := f.Schemas(ctx, dir)
	if err != nil || has == 0 || has >= release {
		return nil, nil // what is wrong with it is said by whoever opens it
	}
	switch word := env(EnvUpgrade); word {
	case "off":
		return nil, nil
	case "", "on":
	default:
		return nil, fault.New(fault.InvalidArgument, "BAD_BACKUP_SETTING", "%s=%s is not known: write on or off", EnvUpgrade, word)
	}
	folder := filepath.Join(dir, Folder)
	to := filepath.Join(folder, fmt.Sprintf("before-v%d-%s.db", release, now.UTC().Format("20060102T150405.000Z")))
	if err := copyAside(ctx, dir, f, to); err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, fault.New(fault.FailedPrecondition, "NO_COPY_BEFORE_MIGRATION",
			"the database has schema v%d and this cadre brings it to v%d, and the copy of it that is made first fails (%s): free some space, or start once with %s=off to go on without a copy; nothing was changed",
			has, release, strings.TrimSuffix(fault.From(sayable(err)).Message, "."), EnvUpgrade).Because(err)
	}
	keepNewest(folder)
	return &Upgrade{From: has, To: release, Copy: to}, nil
}

// sayable makes a fault of an error of the system.
func sayable(err error) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		return err
	}
	return fault.New(fault.FailedPrecondition, "COPY_FAILED", "%s", word(err)).Because(err)
}

const halfCopy = ".copy-"

// copyAside makes the copy under another name first, and removes what starts that were
// killed left.
func copyAside(ctx context.Context, dir string, f store.Files, to string) error {
	folder := filepath.Dir(to)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	left, _ := filepath.Glob(filepath.Join(folder, halfCopy+"*"))
	for _, name := range left {
		_ = os.Remove(name)
	}
	if info, err := os.Stat(filepath.Join(dir, f.Name)); err == nil {
		if err := room(dir, info.Size()); err != nil {
			return err
		}
	}
	half := filepath.Join(folder, halfCopy+filepath.Base(to))
	if _, err := f.Copy(ctx, dir, half); err != nil {
		return err
	}
	return publish(half, to)
}

// Copies are the copies that were made before migrations, the newest last.
func Copies(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, Folder, "before-v*.db"))
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(timeOf(a), timeOf(b)) })
	return all
}

// timeOf is the time in a copy's name.
func timeOf(name string) string {
	return name[strings.LastIndexByte(name, '-')+1:]
}

func keepNewest(folder string) {
	all := Copies(filepath.Dir(folder))
	for len(all) > keptCopies {
		_ = os.Remove(all[0])
		all = all[1:]
	}
}
