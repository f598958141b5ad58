package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// What killed backups left is removed by the next one; what somebody works in stays.
func TestRemainsOfDeadBackupsAreSwept(t *testing.T) {
	t.Parallel()
	dir, _ := filled(t)
	out := t.TempDir()
	left := func(name, lock string, age time.Duration) string {
		path := filepath.Join(out, name)
		must(t, os.Mkdir(path, 0o700))
		if lock != "" {
			must(t, os.WriteFile(filepath.Join(path, lock), nil, 0o600))
		}
		then := time.Now().Add(-age)
		must(t, os.Chtimes(path, then, then))
		return path
	}
	gone := []string{left(".cadre-backup-1", "lock", 0), left(".cadre-backup-2", "", 48*time.Hour), left(".cadre-new-3", "lock", 48*time.Hour)}
	kept := []string{left(".cadre-backup-4", "", time.Hour), left(".cadre-new-5", "lock", time.Hour)}
	inner := source(dir)
	s := source(dir)
	s.Database = func(ctx context.Context, to string) (store.Copied, error) { // a second backup while the first is made
		_, err := backup.Write(ctx, inner, filepath.Join(out, "second.tar.gz"))
		must(t, err)
		return sqlite.Copy(ctx, dir, to)
	}
	if _, err := backup.Write(t.Context(), s, filepath.Join(out, "first.tar.gz")); err != nil {
		t.Errorf("the first backup was disturbed by the second: %v", err)
	}
	for _, path := range gone {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s was removed", path)
		}
	}
	if all, err := os.ReadDir(out); err != nil || len(all) != len(kept)+2 {
		t.Errorf("there are %v, %v", all, err)
	}
}

// A restore that failed in the middle of its exchange leaves a folder that says so, and a
// restore that comes to its end takes that back.
func TestAnInterruptedRestoreIsTold(t *testing.T) {
	t.Parallel()
	file, _ := made(t)
	dir := t.TempDir()
	broken := target(dir)
	broken.Files.Adopt = func(context.Context, string, string, string) error { return os.ErrPermission }
	if _, err := backup.Restore(t.Context(), file, broken); err == nil {
		t.Fatal("it ended well")
	}
	if err := backup.Interrupted(dir); fault.ReasonOf(err) != "RESTORE_INTERRUPTED" {
		t.Errorf("the folder says %v", err)
	}
	_, err := backup.Restore(t.Context(), file, target(dir))
	must(t, err)
	for _, dir := range []string{dir, filepath.Join(dir, "none"), file} {
		if err := backup.Interrupted(dir); err != nil {
			t.Errorf("%s says %v", dir, err)
		}
	}
}
