package edit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/edit"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tooltest.Case{
		New: edit.New, Open: local.Open, Path: "path",
		Files: map[string]string{"d/a.txt": "one\ntwo\nthree\n"},
		Args:  map[string]any{"path": "d/a.txt", "old_text": "two\n", "new_text": "2\n"},
	})
}

// run edits a file of that content and gives the answer and the new content.
func run(t *testing.T, before, old, text string, all bool) (tool.Result, string) {
	t.Helper()
	place := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(place, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := local.Open(filepath.Dir(place))
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	args, err := json.Marshal(map[string]any{"path": "f", "old_text": old, "new_text": text, "replace_all": all})
	if err != nil {
		t.Fatal(err)
	}
	r, err := edit.New().Run(t.Context(), tool.Env{Workspace: ws, Progress: func(string) {}}, tool.Call{ID: "c", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(after)
}

func TestReplaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, old, text string
		all                     bool
		after, says             string
	}{
		{"one", "a\nb\nc\n", "b", "B\nB", false, "a\nB\nB\nc\n", "line 2. It reads now:\n     1\ta\n     2\tB\n     3\tB\n     4\tc\n"},
		{"remove", "a\nb\nc\n", "b\n", "", false, "a\nc\n", "line 2"},
		{"whole", "a", "a", "b", false, "b", "line 1"},
		{"to nothing", "a", "a", "", false, "", "line 1"},
		{"all", "x y\nx\n", "x", "zz", true, "zz y\nzz\n", "2 replacements, in lines 1, 2"},
		{"all of one", "x\n", "x", "y", true, "y\n", "1 replacement, in line 1"},
		{"windows", "a\r\nb\r\nc\r\n", "a\nb", "1\n2\n3", false, "1\r\n2\r\n3\r\nc\r\n", "line 1"},
		{"mixed ends", "a\r\nb\n", "a\r\nb", "c\nd", false, "c\nd\n", "line 1"},
		{"dollar", "a\n", "a", "$1\\1", false, "$1\\1\n", "$1\\1"},
		{"bytes", "\xff\na\n", "a", "b", false, "\xff\nb\n", "line 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, after := run(t, c.before, c.old, c.text, c.all)
			if r.IsError || !strings.Contains(r.Text, c.says) {
				t.Errorf("the answer is %+v, want %q", r, c.says)
			}
			if after != c.after {
				t.Errorf("the file holds %q, want %q", after, c.after)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	code := "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"
	for _, c := range []struct {
		name, before, old string
		says              []string
	}{
		{"twice", "x\ny\nx\n", "x", []string{"2 times", "lines 1, 3", "replace_all"}},
		{"overlap", "aaa", "aa", []string{"2 times", "line 1"}},
		{"often", strings.Repeat("x\n", 30), "x", []string{"30 times", "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more"}},
		{"empty", "a", "", []string{"`old_text` must not be empty", "write"}},
		{"same", "a", "new", []string{"nothing to change"}},
		{"other blanks", code, "func b() {\n    return 2\n}", []string{"line 5", "other blanks", "func b() {\n\treturn 2\n}"}},
		{"other blanks within", "x = call( 1,  2 )\n", "call( 1, 2 )", []string{"line 1", "other blanks", "x = call( 1,  2 )"}},
		{"spaces for tabs", code, "func b() {\n    return 2\n}", []string{"the file indents with tabs, you did with spaces"}},
		{"tabs for spaces", "if x:\n    y()\n", "if x:\n\ty()", []string{"the file indents with spaces, you did with tabs"}},
		{"a part of a word", "maximum\n", " max ", []string{"nothing there is near"}},
		{"escaped line ends", code, `func b() {\n\treturn 2\n}`, []string{"line 5", "as two characters", "func b() {\n\treturn 2\n}"}},
		{"escaped quotes", "say(\"hi\")\n", `say(\"hi\")`, []string{"line 1", "as two characters"}},
		{"line ends that are escaped there", "q\nprint('a\\nb')\n", "print('a\nb')", []string{"line 2", "where you wrote a line end", `print('a\nb')`}},
		{"typographic there", "say \u201chi\u201d \u2013 it\u2019s\n", "say \"hi\" - it's", []string{"line 1", "other quotes, dashes", "say \u201chi\u201d"}},
		{"typographic given", "it's - \"so\"\n", "it\u2019s \u2014 \u201cso\u201d", []string{"line 1", "other quotes, dashes", "it's - \"so\""}},
		{"letter case", "a\nSELECT Name FROM t\n", "select name from T", []string{"line 2", "another letter case", "SELECT Name FROM t"}},
		{"mixed line ends", "q\na\r\nb\nc\n", "a\nb", []string{"line 2", "other line ends"}},
		{"a typo", code, "func b() int {\n\treturn 2\n}", []string{"nearest passage begins at line 5", "2 of 3 lines agree", "- func b() int {\n+ func b() {\n"}},
		{"a line is missing", "a1\nb2\nc3\nd4\n", "a1\nb2\nd4", []string{"line 1; 3 of 3 lines agree", "+ c3\n"}},
		{"one line off", code, "func b() {\n\treturn 3\n}", []string{"nearest passage begins at line 5", "2 of 3 lines agree", "\treturn 2"}},
		{"numbers", code, "     5\tfunc b() {", []string{"line number"}},
		{"nothing near", code, "SELECT 1\nFROM t\n", []string{"nothing there is near", "Read the file again"}},
		{"blank", "a\n", "\n\n\n", []string{"It is blank"}},
		{"binary", "a\x00b", "a", []string{"binary"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, after := run(t, c.before, c.old, "new", false)
			if !r.IsError {
				t.Errorf("no error: %+v", r)
			}
			for _, s := range c.says {
				if !strings.Contains(r.Text, s) {
					t.Errorf("%q is not in %q", s, r.Text)
				}
			}
			if after != c.before {
				t.Errorf("the file changed to %q", after)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	if r, _ := run(t, strings.Repeat("x", 20_000), "x", strings.Repeat("y", 1000), true); !r.IsError || !strings.Contains(r.Text, "20000 replacements") {
		t.Errorf("an explosion gives %.200s", r.Text)
	}
	if r, _ := run(t, "a\n", "a", strings.Repeat("line\n", 5000), false); r.IsError || len(r.Text) > 4000 || !strings.Contains(r.Text, "[… to line") {
		t.Errorf("a long new text gives an answer of %d bytes: %.200s", len(r.Text), r.Text)
	}
	if r, _ := run(t, strings.Repeat("some line\n", 200_000), strings.Repeat("another line\n", 500), "", false); !r.IsError {
		t.Error("a text that is not there was found")
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	ws, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for path, want := range map[string]string{"none": "use write", ".": "is a folder"} {
		args, _ := json.Marshal(map[string]any{"path": path, "old_text": "a", "new_text": "b"})
		r, err := edit.New().Run(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: args})
		if err != nil || !r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("edit of %s = %+v, %v, want %q", path, r, err, want)
		}
	}
}

// FuzzRun: no arguments and no content make the tool panic or lose bytes.
func FuzzRun(f *testing.F) {
	f.Add(`{"path":"f","old_text":"b","new_text":"c"}`, "a\r\nb\r\n")
	f.Add(`{"path":"f","old_text":"x\ny","new_text":"","replace_all":true}`, "x\ny\nx\r\ny")
	f.Add(`{"path":"f","old_text":"   1\tq"}`, "")
	dir := f.TempDir()
	ws, err := local.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { ws.Close() })
	f.Fuzz(func(t *testing.T, args, content string) {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		ft := edit.New().(tool.FileTool)
		m, r, err := ft.Prepare(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: json.RawMessage(args)})
		if err != nil || (m == nil) != r.IsError {
			t.Errorf("Prepare(%q) = %v, %+v, %v", args, m, r, err)
		}
	})
}
