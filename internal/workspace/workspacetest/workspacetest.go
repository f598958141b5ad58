// Package workspacetest is the suite that every workspace driver passes.
package workspacetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// Open gives a workspace over dir, an existing folder of this host, and closes it
// when the test ends. A driver that works elsewhere runs its far end on dir.
type Open func(t *testing.T, dir string) workspace.Workspace

// Run checks a driver.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, fixture)
	}{
		{"Read", testRead},
		{"ReadLimit", testReadLimit},
		{"Paths", testPaths},
		{"Stat", testStat},
		{"List", testList},
		{"Digest", testDigest},
		{"LinksInside", testLinksInside},
		{"LinksOutside", testLinksOutside},
		{"Walk", testWalk},
		{"WalkIgnores", testWalkIgnores},
		{"WalkStops", testWalkStops},
		{"ReplaceNew", testReplaceNew},
		{"ReplaceKeepsMode", testReplaceKeepsMode},
		{"ReplaceBefore", testReplaceBefore},
		{"ReplaceRefuses", testReplaceRefuses},
		{"ReplaceRace", testReplaceRace},
		{"ReplaceIsAtomic", testReplaceIsAtomic},
		{"Remove", testRemove},
		{"RemoveRefuses", testRemoveRefuses},
		{"RemoveLinks", testRemoveLinks},
		{"RemoveRace", testRemoveRace},
		{"Tidy", testTidy},
		{"ContextEnds", testContextEnds},
		{"LinkRace", testLinkRace},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newFixture(t, open))
		})
	}
}

// fixture is a workspace, the folder that it shows, and a folder beside it that
// nothing may touch.
type fixture struct {
	ws      workspace.Workspace
	dir     string
	outside string
}

func newFixture(t *testing.T, open Open) fixture {
	t.Helper()
	base := t.TempDir()
	f := fixture{dir: filepath.Join(base, "work"), outside: filepath.Join(base, "outside")}
	for _, d := range []string{f.dir, f.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(f.outside, "secret.txt"), []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.ws = open(t, f.dir)
	return f
}

// put writes files below the folder without the driver's help.
func (f fixture) put(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(f.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (f fixture) link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(f.dir, name)); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
}

// holds checks a file's content without the driver's help.
func (f fixture) holds(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(f.dir, filepath.FromSlash(name)))
	if err != nil || string(got) != want {
		t.Errorf("%s holds %.60q, %v, want %.60q", name, got, err, want)
	}
}

// names lists a folder without the driver's help.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// wants fails the test unless err is the seam's error.
func wants(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want the error %q", what, err, want)
	}
}
