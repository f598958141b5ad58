package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
)

// filled makes a database of some pages in a folder and closes it.
func filled(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := s.SetBootState(t.Context(), strings.Repeat("k", i+1), strings.Repeat("value ", 2000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, sqlite.FileName)
}

func TestInspectTellsTheSchemaAndTheNewestTime(t *testing.T) {
	t.Parallel()
	if found, err := sqlite.Inspect(t.Context(), t.TempDir()); err != nil || found.Exists {
		t.Errorf("of an empty folder it tells %+v, %v", found, err)
	}
	dir := t.TempDir()
	data, err := os.ReadFile("testdata/v1.db")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, sqlite.FileName)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := sqlite.Inspect(t.Context(), dir)
	if err != nil || !found.Exists || found.Schema != 1 || found.Release < 1 || found.Newest.Before(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("it tells %+v, %v", found, err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(data) {
		t.Errorf("a look changed the file (%v)", err)
	}
}

// Each kind of damage is found by Inspect and refused by Open, in a sentence that
// names the file and says what to do, and the file stays as it was.
func TestDamageIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(data []byte) []byte{
		"truncated":      func(data []byte) []byte { return data[:len(data)/2] },
		"cut to a stump": func(data []byte) []byte { return data[:700] },
		"a page of noise": func(data []byte) []byte {
			copy(data[4096*3:], strings.Repeat("noise ", 600))
			return data
		},
		"no header": func(data []byte) []byte {
			copy(data, "this is no database at all, whatever it says")
			return data
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, path := filled(t)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data = hurt(data)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, looked := sqlite.Inspect(t.Context(), dir)
			s, opened := sqlite.Open(t.Context(), dir)
			if opened == nil {
				_ = s.Close()
			}
			for what, err := range map[string]error{"Inspect": looked, "Open": opened} {
				if err == nil || fault.CodeOf(err) != fault.FailedPrecondition || !strings.Contains(fault.From(err).Message, path) {
					t.Errorf("%s says %v", what, err)
				}
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(data) {
				t.Errorf("the damaged file was changed (%v)", err)
			}
		})
	}
}

func TestInspectRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	dir, _ := filled(t)
	if err := sqlitetest.FromTheFuture(dir, 999); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Inspect(t.Context(), dir); fault.ReasonOf(err) != "NEWER_SCHEMA" || !strings.Contains(err.Error(), "999") {
		t.Errorf("it says %v", err)
	}
}

// A database that is gone, emptied, another one or shorter than it was is not taken
// for the whole, and the sentence says how to go on with it all the same.
func TestALostDatabaseIsNotTakenForTheWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		hurt   func(t *testing.T, dir, path string)
	}{
		"gone":    {"STORE_MISSING", func(t *testing.T, _, path string) { t.Helper(); must(t, os.Remove(path)) }},
		"emptied": {"STORE_MISSING", func(t *testing.T, _, path string) { t.Helper(); must(t, os.Truncate(path, 0)) }},
		"another": {"STORE_REPLACED", func(t *testing.T, _, path string) {
			t.Helper()
			_, other := filled(t)
			must(t, os.Rename(other, path))
		}},
		"shorter": {"STORE_LOST_COMMITS", func(t *testing.T, dir, _ string) {
			t.Helper()
			data, err := os.ReadFile(filepath.Join(dir, sqlite.MarkName))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(dir, sqlite.MarkName), []byte(strings.Fields(string(data))[0]+" 00000000000000000007\n"), 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, path := filled(t)
			c.hurt(t, dir, path)
			_, looked := sqlite.Inspect(t.Context(), dir)
			_, opened := sqlite.Open(t.Context(), dir)
			for what, err := range map[string]error{"Inspect": looked, "Open": opened} {
				if fault.ReasonOf(err) != c.reason || !strings.Contains(fault.From(err).Message, sqlite.MarkName) {
					t.Errorf("%s says %v, want %s", what, err, c.reason)
				}
			}
			must(t, os.Remove(filepath.Join(dir, sqlite.MarkName)))
			s, err := sqlite.Open(t.Context(), dir)
			must(t, err)
			must(t, s.Close())
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A folder that is copied at any moment, as a kill would leave it, is whole: also
// after sessions with the newest events were deleted.
func TestAMarkIsNeverBeyondTheDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir)
	must(t, err)
	defer func() { _ = s.Close() }()
	var sessions []string
	for i := range 12 {
		session := fmt.Sprintf("ses_%d", i)
		n := store.NewSession{
			Row:  store.Row{Kind: resourcev1.ResourceKind_session, ID: session, Org: "default", CreatedAt: time.Now(), Data: []byte{}},
			Root: session, Events: []*eventv1.Event{event.New(time.Now(), &eventv1.SessionCreated{})},
		}
		must(t, s.CreateSession(t.Context(), n, nil))
		sessions = append(sessions, session)
		if i%3 == 2 {
			_, err := s.DeleteSession(t.Context(), sessions[len(sessions)-1-i%2], nil)
			must(t, err)
		}
		copied := filepath.Join(t.TempDir(), "copy")
		must(t, os.CopyFS(copied, os.DirFS(dir)))
		again, err := sqlite.Open(t.Context(), copied)
		if err != nil {
			t.Fatalf("after %d sessions the copy is refused: %v", i+1, err)
		}
		must(t, again.Close())
	}
}
