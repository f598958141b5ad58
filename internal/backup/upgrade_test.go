package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/backup"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

func unset(string) string { return "" }

// old is a data folder of the first release.
func old(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("..", "store", "sqlite", "testdata", "v1.db"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, sqlite.FileName), data, 0o600))
	return dir
}

func TestADatabaseIsCopiedBeforeItsMigration(t *testing.T) {
	t.Parallel()
	dir := old(t)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var all []string
	for i := range 5 {
		u, err := backup.BeforeMigration(t.Context(), dir, sqlite.Files, unset, now.Add(time.Duration(i)*time.Hour))
		must(t, err)
		if u.From != 1 || u.To < 2 {
			t.Fatalf("it tells %+v", u)
		}
		all = append(all, u.Copy)
	}
	if got := backup.Copies(dir); strings.Join(got, " ") != strings.Join(all[2:], " ") {
		t.Errorf("there are %v, want the newest three of %v", got, all)
	}
	again := t.TempDir()
	must(t, os.Rename(all[4], filepath.Join(again, sqlite.FileName)))
	if found, err := sqlite.Inspect(t.Context(), again); err != nil || found.Schema != 1 {
		t.Errorf("the copy is %+v, %v", found, err)
	}
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	must(t, s.Close())
	for _, dir := range []string{dir, t.TempDir()} {
		if u, err := backup.BeforeMigration(t.Context(), dir, sqlite.Files, unset, now); u != nil || err != nil {
			t.Errorf("without a migration it tells %+v, %v", u, err)
		}
	}
}

func TestNoMigrationWithoutACopyUnlessToldSo(t *testing.T) {
	t.Parallel()
	dir := old(t)
	must(t, os.WriteFile(filepath.Join(dir, backup.Folder), nil, 0o600)) // where the folder would be
	_, err := backup.BeforeMigration(t.Context(), dir, sqlite.Files, unset, time.Now())
	if fault.ReasonOf(err) != "NO_COPY_BEFORE_MIGRATION" || !strings.Contains(err.Error(), backup.EnvUpgrade+"=off") {
		t.Errorf("it says %v", err)
	}
	for word, reason := range map[string]string{"off": "", "maybe": "BAD_BACKUP_SETTING"} {
		u, err := backup.BeforeMigration(t.Context(), dir, sqlite.Files, func(string) string { return word }, time.Now())
		if u != nil || fault.ReasonOf(err) != reason {
			t.Errorf("with %s it tells %+v, %v", word, u, err)
		}
	}
	full := old(t)
	files := sqlite.Files
	files.Copy = nil // is not reached
	var st syscall.Statfs_t
	must(t, syscall.Statfs(full, &st))
	huge := int64(st.Bavail)*st.Bsize + 1<<30
	if err := os.Truncate(filepath.Join(full, sqlite.FileName), huge); err != nil {
		t.Skipf("no file of %d bytes can be made: %v", huge, err)
	}
	if _, err := backup.BeforeMigration(t.Context(), full, files, unset, time.Now()); fault.ReasonOf(err) != "NO_COPY_BEFORE_MIGRATION" || !strings.Contains(err.Error(), "MiB free") {
		t.Errorf("on a full disk it says %v", err)
	}
}
