package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// TestRemains: what a crash left beside a file is no obstacle for the same call,
// and Tidy removes exactly that.
func TestRemains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ws, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	plant := func(token, base string) string {
		p := filepath.Join(dir, tempName(token, base))
		if err := os.WriteFile(p, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	plant("call_1", "a")
	if err := ws.Replace(t.Context(), workspace.Replacement{Path: "a", Data: []byte("whole"), Before: workspace.Absent, Token: "call_1"}); err != nil {
		t.Fatal(err)
	}
	mine, other := plant("call_1", "a"), plant("call_1", "b")
	if err := ws.Tidy(t.Context(), "a", "call_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mine); !os.IsNotExist(err) {
		t.Errorf("the remains are still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another file's remains are gone: %v", err)
	}
	if got, err := ws.Read(t.Context(), "a", 10); err != nil || string(got) != "whole" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestTempName(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, c := range [][2]string{{"a", "b"}, {"a/b", "b"}, {"a_b", "b"}, {"a", "c"}, {"", "b"}, {"../../x", "b"}, {string(make([]byte, 999)), "b"}} {
		n := tempName(c[0], c[1])
		if filepath.Base(n) != n || len(n) > 100 {
			t.Errorf("tempName(%.20q) = %q is no plain name", c, n)
		}
		if was, ok := seen[n]; ok {
			t.Errorf("%q and %q have one name", c, was)
		}
		seen[n] = c[0] + " " + c[1]
	}
}

func FuzzRules(f *testing.F) {
	f.Add("*.log\n!a\n/b/\n", "b/a.log", true)
	f.Add("[", "x", false)
	f.Add("\\ \n**/", "x/y", false)
	f.Fuzz(func(t *testing.T, text, rel string, isDir bool) {
		parseRules(".", text, parseRules("d", text, nil)).exclude(rel, isDir)
	})
}
