package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

func TestACopyIsTheDatabaseAtOneMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	defer func() { _ = s.Close() }()
	must(t, s.SetBootState(t.Context(), "k", "before"))
	to := filepath.Join(t.TempDir(), sqlite.FileName)
	c, err := sqlite.Copy(t.Context(), dir, to)
	must(t, err)
	must(t, s.SetBootState(t.Context(), "k", "after"))
	if !strings.HasPrefix(c.Database, "dbs_") || c.Schema < 2 {
		t.Errorf("it tells %+v", c)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 1 {
		t.Errorf("beside the copy lie %v (%v)", left, err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v (%v)", info, err)
	}
	again, err := sqlite.Open(t.Context(), filepath.Dir(to))
	must(t, err)
	defer func() { _ = again.Close() }()
	if v, err := again.BootState(t.Context(), "k"); v != "before" || err != nil {
		t.Errorf("the value is %q, %v", v, err)
	}
}

func TestACopyThatFailsLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir, path := filled(t)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	to := filepath.Join(t.TempDir(), "copy")
	if _, err := sqlite.Copy(stopped, dir, to); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped one says %v", err)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	copy(data[4096*3:], strings.Repeat("noise ", 600))
	must(t, os.WriteFile(path, data, 0o600))
	if _, err := sqlite.Copy(t.Context(), dir, to); fault.ReasonOf(err) != "STORE_DAMAGED" {
		t.Errorf("of a damaged database it says %v", err)
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
	if _, err := sqlite.Copy(t.Context(), t.TempDir(), to); fault.ReasonOf(err) != "NO_DATABASE" {
		t.Errorf("of nothing it says %v", err)
	}
}

// A process that ends between two steps of Adopt leaves a folder that is refused, or
// one that is whole.
func TestAnAdoptedDatabaseIsTheFoldersOwn(t *testing.T) {
	t.Parallel()
	dir, _ := filled(t)
	other, _ := filled(t)
	from := filepath.Join(dir, "staged")
	_, err := sqlite.Copy(t.Context(), other, from)
	must(t, err)
	aside := filepath.Join(dir, "aside")
	must(t, os.Mkdir(aside, 0o700))
	must(t, sqlite.Adopt(t.Context(), dir, from, aside))
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	must(t, s.Close())
	for _, name := range []string{sqlite.FileName, sqlite.MarkName} {
		if _, err := os.Stat(filepath.Join(aside, name)); err != nil {
			t.Errorf("the old one is not aside: %v", err)
		}
	}
	old, err := sqlite.Open(t.Context(), aside)
	must(t, err)
	must(t, old.Close())
}
