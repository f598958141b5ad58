package list_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/list"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tooltest.Case{
		New: list.New, Open: local.Open, Path: "path",
		Files: map[string]string{"d/e/a.txt": "x", "b": "y"},
		Args:  map[string]any{"path": "d"},
	})
}

func folder(t *testing.T, files map[string]int) string {
	t.Helper()
	dir := t.TempDir()
	for name, size := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t *testing.T, dir, args string) tool.Result {
	t.Helper()
	ws, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	r, err := list.New().Run(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTree(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]int{"a/b/c/d": 1, "a/b/x": 2, "a/k": 1536, "big": 3 << 20, "z/y": 0, ".git/config": 1})
	if err := os.Symlink("a/k", filepath.Join(dir, "link")); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "void"), 0o755); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`{}`:                       "a/\n  b/  (3 entries)\n  k  1.5 KB\nbig  3.0 MB\nlink -> a/k\nvoid/\nz/\n  y  0 B\n",
		`{"depth":1}`:              "a/  (5 entries)\nbig  3.0 MB\nlink -> a/k\nvoid/\nz/  (1 entry)\n",
		`{"path":"a/b"}`:           "c/\n  d  1 B\nx  2 B\n",
		`{"path":"./a","depth":9}`: "b/\n  c/\n    d  1 B\n  x  2 B\nk  1.5 KB\n",
		`{"path":"void"}`:          "[void is empty, or .gitignore excludes all that is in it]\n",
		`{"path":"big"}`:           "big  3.0 MB\n[a file, not a folder; use read to see its lines]\n",
	} {
		if r := run(t, dir, args); r.IsError || r.Text != want {
			t.Errorf("list %s gives\n%s\nwant\n%s", args, r.Text, want)
		}
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]int{"docs/a": 1})
	for args, want := range map[string]string{`{"depth":0}`: "`depth` must be 1 or more", `{"path":"dosc"}`: `mean "docs"`} {
		if r := run(t, dir, args); !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("list %s = %+v, want %q", args, r, want)
		}
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	files := map[string]int{}
	for i := range 450 {
		files[fmt.Sprintf("f%04d", i)] = 0
	}
	r := run(t, folder(t, files), `{}`)
	if n := strings.Count(r.Text, "\n"); n != 401 || !strings.Contains(r.Text, "only the first 400 entries") || r.Summary != "400 entries" {
		t.Errorf("%d lines came, summary %q, end %q", n, r.Summary, r.Text[max(0, len(r.Text)-100):])
	}
}
