package tooltest

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// never is what done answers when no file was changed before.
func never(string) bool { return false }

// prepareAll skips what is no FilesTool and gives the mutations of the good arguments.
func (f fixture) prepareAll(t *testing.T, done func(string) bool) []*tool.Mutation {
	t.Helper()
	ft, is := f.tool.(tool.FilesTool)
	if !is {
		t.Skip("the tool is no FilesTool")
	}
	all, r, err := ft.PrepareAll(t.Context(), f.env, call(t, f.Args), done)
	if err != nil || r.IsError {
		t.Fatalf("PrepareAll = %v, %+v, %v, want mutations", all, r, err)
	}
	return all
}

func testPrepareAll(t *testing.T, f fixture) {
	before := f.state(t)
	all := f.prepareAll(t, never)
	if f.state(t) != before {
		t.Error("PrepareAll changed something")
	}
	if len(all) == 0 {
		t.Fatal("the good arguments change nothing")
	}
	seen := map[string]bool{}
	for _, m := range all {
		if got := f.digest(t, m.Path); got != m.Before {
			t.Errorf("%s: Before is %s, the file's digest is %s", m.Path, m.Before, got)
		}
		if m.After == m.Before || m.After == "" || m.Commit == nil || seen[m.Path] {
			t.Errorf("the mutation is not whole, or the second of its file: %+v", m)
		}
		if m.Path != filepath.ToSlash(filepath.Clean(m.Path)) || filepath.IsAbs(m.Path) {
			t.Errorf("the path %q is not clean and relative", m.Path)
		}
		seen[m.Path] = true
	}
	if r := all[0].Result; r.Text == "" || r.IsError {
		t.Errorf("the first mutation's result is %+v", r)
	}
	bad, r, err := f.tool.(tool.FilesTool).PrepareAll(t.Context(), f.env, call(t, f.with("no_such_argument", 1)), never)
	if len(bad) > 0 || err != nil || !r.IsError {
		t.Errorf("PrepareAll of bad arguments = %v, %+v, %v, want a result alone", bad, r, err)
	}
}

func testCommitAll(t *testing.T, f fixture) {
	all := f.prepareAll(t, never)
	for _, what := range []string{"Commit", "a second Commit"} {
		for _, m := range all {
			if err := m.Commit(t.Context()); err != nil {
				t.Errorf("%s of %s: %v", what, m.Path, err)
			}
			if got := f.digest(t, m.Path); got != m.After {
				t.Errorf("after %s the digest of %s is %s, want After, %s", what, m.Path, got, m.After)
			}
		}
	}
	other := newFixture(t, f.Case)
	if r := other.run(t, call(t, f.Args)); !reflect.DeepEqual(r, all[0].Result) {
		t.Errorf("Run says %+v, the first mutation %+v", r, all[0].Result)
	}
	for _, m := range all {
		if got := other.digest(t, m.Path); got != m.After {
			t.Errorf("Run leaves %s with the digest %s, want %s", m.Path, got, m.After)
		}
	}
}

// testCrashBetween: whichever mutation was the last before a crash, the rest of the
// call makes the rest of the change and says the same.
func testCrashBetween(t *testing.T, f fixture) {
	whole := f.prepareAll(t, never)
	for n := range len(whole) + 1 {
		one := newFixture(t, f.Case)
		var made []string
		for _, m := range one.prepareAll(t, never)[:n] {
			if err := m.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			made = append(made, m.Path)
		}
		rest := one.prepareAll(t, func(path string) bool { return slices.Contains(made, path) })
		if len(rest) != len(whole)-n {
			t.Errorf("after %d of %d mutations %d are left", n, len(whole), len(rest))
		}
		for i, m := range rest {
			if i == 0 && !reflect.DeepEqual(m.Result, whole[0].Result) {
				t.Errorf("after %d mutations the result is %+v, want %+v", n, m.Result, whole[0].Result)
			}
			if err := m.Commit(t.Context()); err != nil {
				t.Errorf("after %d mutations, Commit of %s: %v", n, m.Path, err)
			}
		}
		for _, m := range whole {
			if got := one.digest(t, m.Path); got != m.After {
				t.Errorf("after a crash behind %d mutations %s has the digest %s, want %s", n, m.Path, got, m.After)
			}
		}
	}
}

func testForeignChanges(t *testing.T, f fixture) {
	for _, m := range f.prepareAll(t, never) {
		place := filepath.Join(f.dir, filepath.FromSlash(m.Path))
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte("by somebody else"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := m.Commit(t.Context()); !errors.Is(err, workspace.ErrChanged) {
			t.Errorf("Commit of %s after a foreign change: %v, want ErrChanged", m.Path, err)
		}
		if got, err := os.ReadFile(place); err != nil || string(got) != "by somebody else" {
			t.Errorf("the foreign content of %s is now %q, %v", m.Path, got, err)
		}
	}
}
