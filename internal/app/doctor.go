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

	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/store"
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
	findings := []Finding{checkFolder(dir), checkDisk(dir)}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return findings
	}
	pid := config.Holder(dir)
	findings = append(findings, checkServer(dir, pid), checkToken(dir), checkProcesses())
	findings = append(findings, checkBackup(dir)...)
	findings = append(findings, checkSandboxes(ctx)...)
	if pid == 0 {
		database, clock := checkStore(ctx, dir)
		return append(findings, clock, checkAddress(ctx), database, checkEngine(dir))
	}
	findings = append(findings, checkClock(time.Time{}), checkHealth(ctx, dir, pid))
	return append(findings, checkNotices(ctx, dir)...)
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

// clockSlack is how much earlier than what was written last it may be.
const clockSlack = time.Minute

// checkClock compares the clock with the time of what was written last.
func checkClock(newest time.Time) Finding {
	now := failpoint.Now()
	switch {
	case now.Year() < 2025:
		return Finding{"clock", false, "it is " + now.UTC().Format(time.RFC3339), "set the system's clock"}
	case now.Add(clockSlack).Before(newest):
		return Finding{
			"clock", false, fmt.Sprintf("it is %s, and the store was written at %s: the clock was set back", now.UTC().Format(time.RFC3339), newest.UTC().Format(time.RFC3339)),
			"set the system's clock; turns go on all the same, but times in the log do not rise and waits last longer",
		}
	}
	return Finding{"clock", true, now.UTC().Format(time.RFC3339), ""}
}

// checkProcesses says how commands are kept together.
func checkProcesses() Finding {
	mode, reason := proctree.Probe()
	if mode == proctree.Namespace {
		return Finding{"processes", true, "commands run in PID namespaces: they end as a whole, also with the server", ""}
	}
	return Finding{"processes", true, "commands run in process groups: what is left of them is found and ended at the next start (" + reason + ")", ""}
}

// inspectTime bounds how long Doctor looks for damage in a file.
const inspectTime = 30 * time.Second

// checkStore looks into the database of a server that does not run, and compares
// the clock with it.
func checkStore(ctx context.Context, dir string) (database, clock Finding) {
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	driver := standard.Store(os.Getenv)
	if err := belongs(dir, driver); err != nil {
		return Finding{"store", false, fault.From(err).Message, "nothing was changed; the variable may be missing in this shell or in the unit of a service"}, checkClock(time.Time{})
	}
	if err := backup.Interrupted(dir); err != nil {
		return Finding{"store", false, fault.From(err).Message, "nothing was deleted: what was there before is in the replaced-… folders"}, checkClock(time.Time{})
	}
	found, err := driver.Inspect(ctx, standard.StoreOptions{DataDir: dir, Env: os.Getenv})
	clock = checkClock(found.Newest)
	switch {
	case errors.Is(err, store.ErrNewerSchema):
		return Finding{"store", false, fault.From(err).Message, "start the cadre that wrote it: `cadre version` of that one is newer"}, clock
	case err != nil:
		return Finding{"store", false, fault.From(err).Message, "nothing was changed; the file's end, its -wal file and the disk's log may tell what happened to it"}, clock
	case !found.Exists:
		return Finding{"store", true, "none yet; the first start makes it", ""}, clock
	case found.Schema < found.Release:
		return Finding{"store", true, fmt.Sprintf("schema v%d; the next start brings it to v%d", found.Schema, found.Release), ""}, clock
	}
	return Finding{"store", true, fmt.Sprintf("undamaged, schema v%d", found.Schema), ""}, clock
}

// checkEngine looks into the files of an engine that does not run. They hold no
// truth: what is wrong with them costs a rebuild.
func checkEngine(dir string) Finding {
	detail, err := standard.Engines()[0].Inspect(standard.EngineOptions{DataDir: dir, Env: os.Getenv})
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		return Finding{"engine", false, f.Message, "correct the variable"}
	}
	if err != nil {
		return Finding{"engine", false, err.Error(), "nothing needs to be done: the next start sets the files aside and makes them anew from the store, and no turn is lost"}
	}
	return Finding{"engine", true, detail, ""}
}
