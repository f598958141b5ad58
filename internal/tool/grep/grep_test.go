package grep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/grep"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tooltest.Case{
		New: grep.New, Open: local.Open, Path: "path",
		Files: map[string]string{"d/a.txt": "one\ntwo\n", "b.go": "package two\n"},
		Args:  map[string]any{"pattern": "two", "path": "d"},
	})
}

func run(t *testing.T, files map[string]string, args string) tool.Result {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
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
	r, err := grep.New().Run(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var tree = map[string]string{
	"a.go": "package a\n\nfunc A() {}\nfunc B() {}\n", "d/b.go": "package b\r\nfunc C() {}\r\n", "d/b_test.go": "func TestC\n",
	"d/e/c.ts": "function c() {}\n", "bin": "func\x00", ".gitignore": "skip\n", "skip/x.go": "func X() {}\n", "ctx": "1\n2\nhit\n4\nhit\nhit\n7\n8\n9\n10\nhit\n",
}

func TestFinds(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"pattern":"^func [AC]"}`:                       "a.go:3: func A() {}\nd/b.go:2: func C() {}\n",
		`{"pattern":"func","glob":"*.go"}`:               "a.go:3: func A() {}\na.go:4: func B() {}\nd/b.go:2: func C() {}\nd/b_test.go:1: func TestC\n",
		`{"pattern":"func","glob":"d/*.{go,ts}"}`:        "d/b.go:2: func C() {}\nd/b_test.go:1: func TestC\n",
		`{"pattern":"func","glob":"**/*.ts"}`:            "d/e/c.ts:1: function c() {}\n",
		`{"pattern":"func","path":"d","glob":"e/*"}`:     "d/e/c.ts:1: function c() {}\n",
		`{"pattern":"C\\(\\) \\{\\}$","path":"d/b.go"}`:  "d/b.go:2: func C() {}\n",
		`{"pattern":"FUNC a","ignore_case":true}`:        "a.go:3: func A() {}\n",
		`{"pattern":"X","path":"skip"}`:                  "skip/x.go:1: func X() {}\n",
		`{"pattern":"package","limit":1}`:                "a.go:1: package a\n[stopped at 1 match; narrow the search, or set `limit`]\n",
		`{"pattern":"nowhere","path":"d"}`:               "[no match in 3 files]\n",
		`{"pattern":"hit","path":"ctx","context":1}`:     "ctx-2- 2\nctx:3: hit\nctx-4- 4\nctx:5: hit\nctx:6: hit\nctx-7- 7\n--\nctx-10- 10\nctx:11: hit\n",
		`{"pattern":"A|C\\(","context":1,"glob":"*.go"}`: "a.go-2- \na.go:3: func A() {}\na.go-4- func B() {}\n--\nd/b.go-1- package b\nd/b.go:2: func C() {}\n",
		`{"pattern":"package","glob":"./d/*"}`:           "d/b.go:1: package b\n",
		`{"pattern":"\\Apackage\\z|^$","path":"a.go"}`:   "a.go:2: \n",
		`{"pattern":"func","path":"bin"}`:                "[no match in 1 file]\n",
	} {
		if r := run(t, tree, args); r.IsError || r.Text != want {
			t.Errorf("grep %s gives\n%s\nwant\n%s", args, r.Text, want)
		}
	}
	if r := run(t, tree, `{"pattern":"func","glob":"*.go"}`); r.Summary != "4 matches in 3 files" {
		t.Errorf("the summary is %q", r.Summary)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"pattern":"a("}`:                                "no valid regular expression",
		`{"pattern":"(?=a)"}`:                             "RE2",
		`{"pattern":""}`:                                  "`pattern` must not be empty",
		`{"pattern":"a","limit":0}`:                       "`limit` must be between 1 and 1000",
		`{"pattern":"a","context":21}`:                    "`context` must be between 0 and 20",
		`{"pattern":"a","glob":"[a"}`:                     "`glob`",
		`{"pattern":"a","path":"a.og"}`:                   `mean "a.go"`,
		`{"pattern":"` + strings.Repeat("a", 5000) + `"}`: "more than 4096",
	} {
		if r := run(t, tree, args); !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("grep %.60s = %+v, want %q", args, r, want)
		}
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"huge": strings.Repeat("x", tool.LargestFile+1), "wide": strings.Repeat("y", 9000) + "x\n"}
	for i := range 300 {
		files[fmt.Sprintf("f%03d", i)] = strings.Repeat("x", 400) + "\n"
	}
	r := run(t, files, `{"pattern":"x","limit":1000}`)
	if len(r.Text) > tool.MostText+200 || !strings.Contains(r.Text, "more than can be shown") {
		t.Errorf("%d bytes came, end %q", len(r.Text), r.Text[max(0, len(r.Text)-100):])
	}
	r = run(t, files, `{"pattern":"x","glob":"[hw]*"}`)
	if !strings.Contains(r.Text, "[1 file of more than 16 MiB not searched]") || !strings.Contains(r.Text, "9001 characters") || len(r.Text) > 1000 {
		t.Errorf("the answer is %.300s", r.Text)
	}
	if r := run(t, map[string]string{"a": strings.Repeat("a", 100_000)}, `{"pattern":"(a*)*b"}`); r.IsError {
		t.Errorf("a costly pattern gives %+v", r)
	}
}

// FuzzRun: no arguments make the tool panic, fail or answer without end.
func FuzzRun(f *testing.F) {
	f.Add(`{"pattern":"(a|b)+?$","glob":"{a,b*}","context":2}`)
	f.Add(`{"pattern":"\\pL{1000}"}`)
	f.Add(`{"pattern":"[[:word:]]","path":"./d/.."}`)
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("aab\nb\xff\n\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	ws, err := local.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { ws.Close() })
	f.Fuzz(func(t *testing.T, args string) {
		r, err := grep.New().Run(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: json.RawMessage(args)})
		if err != nil || r.Text == "" || len(r.Text) > 2*tool.MostText {
			t.Errorf("Run(%q) = %.200s, %v", args, r.Text, err)
		}
	})
}

// unreadable is a workspace in which some files cannot be read.
type unreadable struct {
	workspace.Workspace
	errors map[string]error
}

func (u unreadable) Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	if err := u.errors[path]; err != nil {
		return nil, err
	}
	return u.Workspace.Read(ctx, path, limit)
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	env := tool.Env{Workspace: unreadable{ws, map[string]error{"a": workspace.ErrNotFound, "b": workspace.ErrDenied}}}
	call := tool.Call{ID: "c", Args: json.RawMessage(`{"pattern":"x"}`)}
	if r, err := grep.New().Run(t.Context(), env, call); err != nil || r.Text != "c:1: x\n[2 files could not be read]\n" {
		t.Errorf("beside unreadable files: %+v, %v", r, err)
	}
	call.Args = json.RawMessage(`{"pattern":"x","path":"b"}`)
	if r, err := grep.New().Run(t.Context(), env, call); err != nil || !r.IsError {
		t.Errorf("an unreadable file alone: %+v, %v", r, err)
	}
	env.Workspace = unreadable{ws, map[string]error{"b": workspace.ErrFailed}}
	call.Args = json.RawMessage(`{"pattern":"x"}`)
	if r, err := grep.New().Run(t.Context(), env, call); !errors.Is(err, workspace.ErrFailed) {
		t.Errorf("a workspace that is gone: %+v, %v, want its error", r, err)
	}
}
