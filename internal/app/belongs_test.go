package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
)

// A folder that belongs to a database elsewhere gets none of its own by oversight, from no
// command; the variable wins over what the folder remembers, and no password is in it.
func TestAFolderRemembersItsDatabase(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("DATABASE_URL", "")
	c := postgrestest.Start(t)
	dir := t.TempDir()
	open := func(address string, another bool) {
		t.Helper()
		t.Setenv("CADRE_DATABASE_URL", address)
		driver := standard.Store(os.Getenv)
		s, err := driver.Open(t.Context(), standard.StoreOptions{DataDir: dir, Env: os.Getenv})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		if err := belongs(dir, driver); err != nil {
			t.Errorf("with the variable: %v", err)
		}
		if told, err := remember(t.Context(), dir, driver, s); err != nil || another != strings.Contains(told, "belonged to another database") || strings.Contains(told, "hunter2") {
			t.Errorf("it tells %q, %v", told, err)
		}
	}
	first, second := c.URL(t), c.URL(t)
	open(strings.Replace(first, "cadre@", "cadre:hunter2@", 1), false)
	open(strings.Replace(first, "cadre@", "cadre:hunter2@", 1), false)
	open(strings.Replace(second, "cadre@", "cadre:hunter2@", 1), true) // another one is no error
	data, err := os.ReadFile(filepath.Join(dir, storeFile))
	if err != nil || strings.Contains(string(data), "hunter2") || strings.Contains(string(data), first[strings.LastIndexByte(first, '/')+1:]+`\"`) || !strings.Contains(string(data), `"dbs_`) {
		t.Errorf("it remembers %s, %v", data, err)
	}
	t.Setenv("CADRE_DATABASE_URL", "")
	refused := func(what string, err error) {
		t.Helper()
		if fault.ReasonOf(err) != "STORE_ELSEWHERE" || !strings.Contains(err.Error(), second[strings.LastIndexByte(second, '/')+1:]) {
			t.Errorf("%s gave %v", what, err)
		}
	}
	refused("a start", Serve(t.Context(), Options{DataDir: dir, Listen: "127.0.0.1:0"}))
	_, err = Migrate(t.Context(), dir, true)
	refused("a migration", err)
	_, _, err = Backup(t.Context(), "1.0", dir, filepath.Join(t.TempDir(), "b.tar.gz"))
	refused("a backup", err)
	_, err = Restore(t.Context(), dir, "b.tar.gz", false)
	refused("a restore", err)
	if f, _ := checkStore(t.Context(), dir); f.OK || !strings.Contains(f.Detail, "CADRE_DATABASE_URL is not set") {
		t.Errorf("doctor says %+v", f)
	}
	if _, err := os.Stat(filepath.Join(dir, "cadre.db")); err == nil {
		t.Error("a database was begun in the folder")
	}
	if err := os.Remove(filepath.Join(dir, storeFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Migrate(t.Context(), dir, true); err != nil {
		t.Errorf("without the file: %v", err)
	}
}
