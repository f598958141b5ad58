package glob_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/glob"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tooltest.Case{
		New: glob.New, Open: local.Open, Path: "path",
		Files: map[string]string{"d/a.txt": "one\n", "d/e/b.txt": "two\n", "c.go": "package c\n"},
		Args:  map[string]any{"pattern": "*.txt", "path": "d"},
	})
}

func run(t *testing.T, files []string, args string) tool.Result {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		text := ""
		if filepath.Base(name) == ".gitignore" {
			text = "skip\n*.log\n"
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	r, err := glob.New().Run(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var tree = []string{".gitignore", "README.md", "a.go", "d/b.go", "d/b_test.go", "d/e/c.ts", "d/x.log", "skip/x.go"}

func TestFinds(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"pattern":"*.go"}`:                     "a.go\nd/b.go\nd/b_test.go\n",
		`{"pattern":"./*.go"}`:                   "a.go\nd/b.go\nd/b_test.go\n",
		`{"pattern":"**/*.go"}`:                  "a.go\nd/b.go\nd/b_test.go\n",
		`{"pattern":"d/*.go"}`:                   "d/b.go\nd/b_test.go\n",
		`{"pattern":"d/**/*.{ts,go}"}`:           "d/b.go\nd/b_test.go\nd/e/c.ts\n",
		`{"pattern":"e/*","path":"d"}`:           "d/e/c.ts\n",
		`{"pattern":"**","path":"d/"}`:           "d/b.go\nd/b_test.go\nd/e/c.ts\n",
		`{"pattern":"*","path":"skip"}`:          "skip/x.go\n",
		`{"pattern":"*/"}`:                       "d/\nd/e/\n",
		`{"pattern":"d/*/"}`:                     "d/e/\n",
		`{"pattern":"readme*"}`:                  "[nothing fits among 6 files; what .gitignore excludes was not looked at]\n[in another letter case README.md fits]\n",
		`{"pattern":"*.log"}`:                    "[nothing fits among 6 files; what .gitignore excludes was not looked at]\n",
		`{"pattern":"*.go","limit":2}`:           "a.go\nd/b.go\n[stopped at 2 files, in the order of names; narrow the pattern or `path`, or set `limit`]\n",
		`{"pattern":"*.{go,ts,md}","limit":5}`:   "README.md\na.go\nd/b.go\nd/b_test.go\nd/e/c.ts\n",
		`{"pattern":".git*","path":"./d/../"}`:   ".gitignore\n",
		`{"pattern":"[ab]*.go","path":"d/../d"}`: "d/b.go\nd/b_test.go\n",
	} {
		if r := run(t, tree, args); r.IsError || r.Text != want {
			t.Errorf("glob %s gives\n%s\nwant\n%s", args, r.Text, want)
		}
	}
	if r := run(t, tree, `{"pattern":"*.go"}`); r.Summary != "3 files" {
		t.Errorf("the summary is %q", r.Summary)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"pattern":""}`:                     "`pattern` must not be empty",
		`{"pattern":"/etc/*"}`:               "name it in `path`",
		`{"pattern":"../*"}`:                 "holds `..`",
		`{"pattern":"[a"}`:                   "a [ has no ]",
		`{"pattern":"a","limit":0}`:          "`limit` must be between 1 and 2000",
		`{"pattern":"*","path":"a.go"}`:      "a.go is a file",
		`{"pattern":"*","path":"READNE.md"}`: `mean "README.md"`,
	} {
		if r := run(t, tree, args); !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("glob %s = %+v, want %q", args, r, want)
		}
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	var files []string
	for i := range 600 {
		files = append(files, fmt.Sprintf("%s/%04d", strings.Repeat("n", 150), i))
	}
	r := run(t, files, `{"pattern":"*","limit":2000}`)
	if len(r.Text) > tool.MostText+200 || !strings.Contains(r.Text, "more than can be shown") {
		t.Errorf("%d bytes came, end %q", len(r.Text), r.Text[max(0, len(r.Text)-100):])
	}
}

// FuzzRun: no arguments make the tool panic, fail or answer without end.
func FuzzRun(f *testing.F) {
	f.Add(`{"pattern":"{a,b*}/**/"}`)
	f.Add(`{"pattern":"**","path":"./d/.."}`)
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		f.Fatal(err)
	}
	ws, err := local.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { ws.Close() })
	f.Fuzz(func(t *testing.T, args string) {
		r, err := glob.New().Run(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: json.RawMessage(args)})
		if err != nil || r.Text == "" || len(r.Text) > 2*tool.MostText {
			t.Errorf("Run(%q) = %.200s, %v", args, r.Text, err)
		}
	})
}
