package app

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/failpoint"
)

// checkBackup tells how old the newest backup is that lies in the data folder; nothing
// when none does.
func checkBackup(dir string) []Finding {
	var newest os.FileInfo
	for _, pattern := range []string{filepath.Join(backup.Folder, "before-v*.db"), filepath.Join(backup.Folder, "*.tar.gz"), "cadre-backup-*.tar.gz"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range found {
			if info, err := os.Stat(name); err == nil && (newest == nil || info.ModTime().After(newest.ModTime())) {
				newest = info
			}
		}
	}
	if newest == nil {
		return nil
	}
	return []Finding{{"backup", true, fmt.Sprintf("the newest in the data folder is %s old (%s); keep others on another disk", age(failpoint.Now().Sub(newest.ModTime())), newest.Name()), ""}}
}

// age is a time in the unit that a person would use.
func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	}
	return fmt.Sprintf("%d minutes", max(0, d/time.Minute))
}
