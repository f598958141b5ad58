package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/standard"
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	Check  string
	OK     bool
	Detail string
	Advice string
}

// lowDisk is the free space, in bytes, below which Doctor warns.
const lowDisk = 512 << 20

// Doctor looks at a data folder and this machine. It changes nothing: what a
// running server holds is not opened.
func Doctor(ctx context.Context, dir string) []Finding {
	findings := []Finding{checkFolder(dir)}
	if !findings[0].OK {
		return findings
	}
	pid := config.Holder(dir)
	findings = append(findings, checkDisk(dir), checkServer(dir, pid), checkToken(dir), checkClock())
	if pid == 0 {
		return append(findings, checkAddress(ctx), checkStore(ctx, dir))
	}
	return append(findings, checkHealth(ctx, dir))
}

func checkFolder(dir string) Finding {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Finding{"data folder", true, dir + " does not exist yet; the first `cadre up` makes it", ""}
	case err != nil:
		return Finding{"data folder", false, fmt.Sprintf("%s: %v", dir, err), "make it readable for this user, or name another with --data"}
	case !info.IsDir():
		return Finding{"data folder", false, dir + " is no folder", "move it away, or name another with --data"}
	}
	if err := config.Prepare(dir); err != nil {
		return Finding{"data folder", false, fault.From(err).Message, "check owner, permissions and whether the disk is mounted read-only"}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Finding{"data folder", false, fmt.Sprintf("%s is open to other users (mode %o)", dir, info.Mode().Perm()), "chmod 700 " + dir}
	}
	return Finding{"data folder", true, dir, ""}
}

func checkDisk(dir string) Finding {
	var st syscall.Statfs_t
	if err := syscall.Statfs(nearest(dir), &st); err != nil {
		return Finding{"disk", false, err.Error(), "check the file system of " + dir}
	}
	free := st.Bavail * uint64(st.Bsize) // the field's type differs between systems
	f := Finding{"disk", free >= lowDisk, fmt.Sprintf("%d MiB free", free>>20), ""}
	if !f.OK {
		f.Advice = "free some space: without any, inputs are refused until there is"
	}
	return f
}

// nearest is the closest folder above that exists.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func checkToken(dir string) Finding {
	path := filepath.Join(dir, config.TokenFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Finding{"token", true, "none yet; the first start makes it", ""}
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return Finding{"token", false, fmt.Sprintf("%s is open to other users (mode %o)", path, info.Mode().Perm()), "chmod 600 " + path + ", and remove the file before the next start if others may have read it"}
	}
	if _, err := config.ReadToken(dir); err != nil {
		return Finding{"token", false, fmt.Sprintf("%s: %v", path, err), "remove it; the next start makes a new one"}
	}
	return Finding{"token", true, "only its owner can read it", ""}
}

func checkClock() Finding {
	now := time.Now()
	if now.Year() < 2025 {
		return Finding{"clock", false, "it is " + now.Format(time.RFC3339), "set the system's clock"}
	}
	return Finding{"clock", true, now.UTC().Format(time.RFC3339), ""}
}

// checkStore opens the database, which a running server would hold.
func checkStore(ctx context.Context, dir string) Finding {
	if _, err := os.Stat(filepath.Join(dir, "cadre.db")); errors.Is(err, fs.ErrNotExist) {
		return Finding{"store", true, "none yet; the first start makes it", ""}
	}
	lock, err := config.Acquire(dir)
	if err != nil {
		return Finding{"store", false, fault.From(err).Message, "stop the other server first"}
	}
	defer func() { _ = lock.Release() }()
	s, err := standard.Stores()[0].Open(ctx, dir)
	if err != nil {
		return Finding{"store", false, err.Error(), "restore a backup, or move " + filepath.Join(dir, "cadre.db") + " away to begin anew"}
	}
	if err := s.Close(); err != nil {
		return Finding{"store", false, err.Error(), "check the disk"}
	}
	return Finding{"store", true, "opens and has this release's schema", ""}
}
