package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

func open(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlitetest.Fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

// C104
func TestTheDatabaseIsOneFileInTheDataFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetBootState(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != sqlite.FileName || entries[1].Name() != sqlite.MarkName {
		t.Fatalf("after Close the folder holds %v (%v), want %s and its mark alone", entries, err, sqlite.FileName)
	}
	if info, _ := entries[0].Info(); info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %o, want 600", info.Mode().Perm())
	}
	again, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if v, err := again.BootState(t.Context(), "k"); v != "v" || err != nil {
		t.Fatalf("after a restart the value is %q, %v", v, err)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := sqlitetest.FromTheFuture(dir, 999); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), dir); !errors.Is(err, store.ErrNewerSchema) {
		t.Fatalf("got %v, want the refusal of a newer schema", err)
	}
}

func TestAFileThatIsNoDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, sqlite.FileName)
	if err := os.WriteFile(path, []byte("this is no database, and long enough to be looked at as one ................................................"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), dir); err == nil {
		t.Fatal("a file that is no database was opened")
	}
	if data, err := os.ReadFile(path); err != nil || string(data[:12]) != "this is no d" {
		t.Fatalf("the file was changed: %q, %v", data, err)
	}
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for range 50 {
		writers.Go(func() {
			for s.SetBootState(context.Background(), "k", "v") == nil {
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	writers.Wait()
	if err := s.SetBootState(t.Context(), "k", "v"); fault.ReasonOf(err) != "STORE_CLOSED" {
		t.Fatalf("got %v, want STORE_CLOSED", err)
	}
}

func TestACancelledCallIsNotMade(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.SetBootState(ctx, "k", "v"); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
	if v, _ := s.BootState(t.Context(), "k"); v != "" {
		t.Fatalf("a cancelled call wrote %q", v)
	}
}
