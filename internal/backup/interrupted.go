package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
)

// BegunName is a file of the data folder that is there while a restore exchanges what the
// folder has: after one that was killed in between, parts of two installations lie there.
const BegunName = "restore.begun"

// begun notes that the exchange begins.
func (t Target) begun() error {
	return config.Replace(filepath.Join(t.Dir, BegunName), []byte(t.Now.UTC().Format(time.RFC3339)+"\n"))
}

// Interrupted refuses a folder into which a restore began and did not come to its end:
// RESTORE_INTERRUPTED.
func Interrupted(dir string) error {
	path := filepath.Join(dir, BegunName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || err != nil && !isFolder(dir) {
		return nil
	}
	return fault.New(fault.FailedPrecondition, "RESTORE_INTERRUPTED",
		"a restore into the data folder %s was interrupted and what is there is not whole: restore the backup again with --force, or move back what is in the newest replaced-… folder and remove %s", dir, path)
}

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
