package write_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/tool/write"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"Over": "a.txt", "New": "d/e/new.txt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tooltest.Run(t, tooltest.Case{
				New: write.New, Open: local.Open, Path: "path",
				Files: map[string]string{"a.txt": "old\n"},
				Args:  map[string]any{"path": path, "content": "new\n"},
			})
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, content string
		want, summary       string
	}{
		{"new", "d/new", "a\nb\n", "Created d/new (2 lines, 4 bytes).", "2 lines"},
		{"over", "old", "x\n", "Wrote over old (1 line, 2 bytes).", "1 line"},
		{"same", "old", "old\n", "Nothing to change: the same content was already in old", "1 line"},
		{"no line end", "new", "x", "Its last line has no line end.", "1 line"},
		{"empty", "old", "", "(0 lines, 0 bytes)", "0 lines"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "old"), []byte("old\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			r := run(t, dir, c.path, c.content)
			if r.IsError || !strings.Contains(r.Text, c.want) || r.Summary != c.summary {
				t.Errorf("the answer is %+v, want %q and %q", r, c.want, c.summary)
			}
			if got, err := os.ReadFile(filepath.Join(dir, c.path)); err != nil || string(got) != c.content {
				t.Errorf("the file holds %q, %v, want %q", got, err, c.content)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := run(t, dir, "d", "x"); !r.IsError || !strings.Contains(r.Text, "d is a folder") {
		t.Errorf("a folder gives %+v", r)
	}
}

func run(t *testing.T, dir, path, content string) tool.Result {
	t.Helper()
	ws, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	args, err := json.Marshal(map[string]string{"path": path, "content": content})
	if err != nil {
		t.Fatal(err)
	}
	r, err := write.New().Run(t.Context(), tool.Env{Workspace: ws, Progress: func(string) {}}, tool.Call{ID: "c", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
