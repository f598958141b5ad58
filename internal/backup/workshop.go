package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	// tempPrefix begins the folders in which backups are made. Whoever makes one holds the
	// lock in it, which the system frees when the process ends, however it ends.
	tempPrefix = ".cadre-backup-"
	// newPrefix begins those in which the lock is not held yet.
	newPrefix = ".cadre-new-"
	lockName  = "lock"
	// oldRemains is the age at which a folder without a lock is taken for one that a dead
	// process left.
	oldRemains = 24 * time.Hour
)

// workshop makes a folder for a backup in the making; done removes it. It gets its name
// when its lock is held, so that nobody takes it for one that was left.
func workshop(dir string) (temp string, done func(), err error) {
	fresh, err := os.MkdirTemp(dir, newPrefix)
	if err != nil {
		return "", nil, err
	}
	lock := flock.New(filepath.Join(fresh, lockName))
	temp = filepath.Join(dir, tempPrefix+strings.TrimPrefix(filepath.Base(fresh), newPrefix))
	if err := errors.Join(lock.Lock(), os.Rename(fresh, temp)); err != nil {
		return "", nil, errors.Join(err, lock.Close(), os.RemoveAll(fresh))
	}
	return temp, func() { _ = errors.Join(os.RemoveAll(temp), lock.Close()) }, nil
}

// sweep removes what backups that were killed left.
func sweep(dir string) {
	for _, prefix := range []string{tempPrefix, newPrefix} {
		left, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
		for _, d := range left {
			if info, err := os.Lstat(d); err == nil && info.IsDir() && abandoned(d, info) {
				_ = os.RemoveAll(d)
			}
		}
	}
}

// abandoned says whether nobody works in a folder any more.
func abandoned(dir string, info fs.FileInfo) bool {
	lock := filepath.Join(dir, lockName)
	if _, err := os.Lstat(lock); err != nil || strings.HasPrefix(filepath.Base(dir), newPrefix) {
		return time.Since(info.ModTime()) > oldRemains
	}
	f := flock.New(lock)
	defer func() { _ = f.Close() }()
	free, err := f.TryLock()
	return free && err == nil
}
