package workspacetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// remove removes through the driver.
func (f fixture) remove(t *testing.T, path, before string) error {
	t.Helper()
	return f.ws.Replace(t.Context(), workspace.Replacement{Path: path, Data: []byte("not looked at"), Before: before, Remove: true, Token: "t"})
}

// gone checks without the driver's help that nothing has this name.
func (f fixture) gone(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(f.dir, filepath.FromSlash(name))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", name, err)
	}
}

func testRemove(t *testing.T, f fixture) {
	f.put(t, map[string]string{"a": "one", "d/e/b": "two", "c": "three"})
	for path, before := range map[string]string{"a": digest("one"), "d/e/b": digest("two"), "c": ""} {
		if err := f.remove(t, path, before); err != nil {
			t.Errorf("the removal of %s: %v", path, err)
		}
		f.gone(t, path)
		if got, err := f.ws.Digest(t.Context(), path); got != workspace.Absent || err != nil {
			t.Errorf("Digest(%s) = %q, %v, want Absent", path, got, err)
		}
	}
	for _, path := range []string{"a", "none/none"} {
		for _, before := range []string{"", workspace.Absent} {
			if err := f.remove(t, path, before); err != nil {
				t.Errorf("the removal of %s, which is not there, with %q: %v", path, before, err)
			}
		}
	}
	if got := names(t, filepath.Join(f.dir, "d", "e")); len(got) != 0 {
		t.Errorf("the folder of a removed file holds %q, want it to stay, empty", got)
	}
	f.gone(t, "none")
	f.clean(t, ".")
}

func testRemoveRefuses(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/a": "x"})
	for _, c := range []struct {
		path, before string
		want         error
	}{
		{"d/a", workspace.Absent, workspace.ErrChanged},
		{"d/a", digest("other"), workspace.ErrChanged},
		{"d/none", digest("x"), workspace.ErrChanged},
		{"none/none", digest("x"), workspace.ErrChanged},
		{"d", "", workspace.ErrIsFolder},
		{".", "", workspace.ErrIsFolder},
		{"d/a/b", "", workspace.ErrNotFolder},
		{"../outside/secret.txt", "", workspace.ErrOutside},
		{"a\x00", "", workspace.ErrBadPath},
	} {
		wants(t, fmt.Sprintf("the removal of %q with %.8q", c.path, c.before), f.remove(t, c.path, c.before), c.want)
	}
	f.holds(t, "d/a", "x")
	f.untouched(t)
}

func testRemoveLinks(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/a.txt": "x", "d/e/b.txt": "y"})
	f.link(t, "d/a.txt", "file")
	f.link(t, "../a.txt", "d/e/up")
	f.link(t, "d/none", "dangling")
	f.link(t, "d/e", "folder")
	f.link(t, "../outside/secret.txt", "out")
	f.link(t, "../outside", "away")
	wants(t, "the removal of a link to other content", f.remove(t, "file", digest("other")), workspace.ErrChanged)
	for path, before := range map[string]string{"file": digest("x"), "d/e/up": digest("x"), "dangling": "", "folder/b.txt": digest("y")} {
		if err := f.remove(t, path, before); err != nil {
			t.Errorf("the removal of %s: %v", path, err)
		}
		f.gone(t, path)
	}
	f.holds(t, "d/a.txt", "x")
	f.gone(t, "d/e/b.txt")
	wants(t, "the removal of a link to a folder", f.remove(t, "folder", ""), workspace.ErrIsFolder)
	wants(t, "the removal of a link out", f.remove(t, "out", ""), workspace.ErrOutside)
	wants(t, "the removal through a link out", f.remove(t, "away/secret.txt", ""), workspace.ErrOutside)
	f.untouched(t)
}

// testRemoveRace: of a removal and writes from the same state exactly one wins.
func testRemoveRace(t *testing.T, f fixture) {
	for range 10 {
		f.put(t, map[string]string{"a": "start"})
		var won atomic.Int32
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				err := f.ws.Replace(t.Context(), workspace.Replacement{
					Path: "a", Data: []byte(fmt.Sprint(i)), Before: digest("start"), Remove: i%2 == 0, Token: fmt.Sprint(i),
				})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, workspace.ErrChanged) {
					t.Errorf("the loser's error is %v", err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d won, want 1", won.Load())
		}
	}
	f.clean(t, ".")
}
