package applypatch_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/applypatch"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

const everything = `*** Begin Patch
*** Update File: d/a.txt
@@
 one
-two
+2
 three
*** Add File: new/b.txt
+b
*** Delete File: gone.txt
*** Update File: old.txt
*** Move to: moved/new.txt
@@
-x
+y
*** End Patch
`

func TestSuite(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tooltest.Case{
		New: applypatch.New, Open: local.Open,
		Files: map[string]string{"d/a.txt": "one\ntwo\nthree\n", "gone.txt": "g\n", "old.txt": "x\n"},
		Args:  map[string]any{"patch": everything},
	})
}

// run patches a folder and gives the answer and what is in the folder then.
func run(t *testing.T, files map[string]string, patch string) (tool.Result, map[string]string) {
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
	args, err := json.Marshal(map[string]any{"patch": patch})
	if err != nil {
		t.Fatal(err)
	}
	r, err := applypatch.New().Run(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	after := map[string]string{}
	for info, err := range ws.Walk(t.Context(), ".") {
		if err != nil {
			t.Fatal(err)
		}
		if !info.IsDir {
			data, err := os.ReadFile(filepath.Join(dir, info.Path))
			if err != nil {
				t.Fatal(err)
			}
			after[info.Path] = string(data)
		}
	}
	return r, after
}

// envelope is a patch of one file.
func envelope(lines ...string) string {
	return "*** Begin Patch\n*** Update File: f\n" + strings.Join(lines, "\n") + "\n*** End Patch"
}

// unified is a diff of one file.
func unified(lines ...string) string {
	return "--- a/f\n+++ b/f\n" + strings.Join(lines, "\n") + "\n"
}

const twice = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"

func TestPatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, patch, after string }{
		{"replace", "a\nb\nc\n", envelope("@@", " a", "-b", "+B", " c"), "a\nB\nc\n"},
		{"without @@", "a\nb\nc\n", envelope(" a", "-b", "+B", " c"), "a\nB\nc\n"},
		{"two hunks", "a\nb\nc\nd\ne\n", envelope("@@", "-a", "+A", "@@", " d", "-e", "+E"), "A\nb\nc\nd\nE\n"},
		{"hunks out of order", "a\nb\nc\nd\ne\n", envelope("@@", "-e", "+E", "@@", "-a", "+A"), "A\nb\nc\nd\nE\n"},
		{"hunks that share context", "a\nb\nc\n", envelope("@@", "-a", "+A", " b", "@@", " b", "-c", "+C"), "A\nb\nC\n"},
		{"anchor", twice, envelope("@@ func b() {", "-\treturn 1", "+\treturn 2"), "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"},
		{"anchor in a row", twice, envelope("@@ func a() {", "@@ func b", "-\treturn 1", "+\treturn 2"), "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"},
		{"anchor that is not there", "a\nb\n", envelope("@@ class X", "-b", "+c"), "a\nc\n"},
		{"insert below an anchor", "a\nb\n", envelope("@@ a", "+x"), "a\nx\nb\n"},
		{"end of file", "x\na\nx\n", envelope("@@", "-x", "+y", "*** End of File"), "x\na\ny\n"},
		{"append", "a\n", envelope("@@", "+b", "*** End of File"), "a\nb\n"},
		{"into an empty file", "", envelope("@@", "+b"), "b\n"},
		{"empty lines in a hunk", "a\n\nb\n", envelope("@@", " a", "", "-b", "+c", "", ""), "a\n\nc\n"},
		{"trailing blanks", "a  \nb\t\nc\n", envelope("@@", " a", "-b", "+B", " c "), "a  \nB\nc\n"},
		{"windows", "a\r\nb\r\nc\r\n", envelope("@@", " a", "-b", "+B", "+B2", " c"), "a\r\nB\r\nB2\r\nc\r\n"},
		{"a patch with windows ends", "a\nb\n", strings.ReplaceAll(envelope("@@", " a", "-b", "+B"), "\n", "\r\n"), "a\nB\n"},
		{"mixed ends", "a\r\nb\nc\n", envelope("@@", "-b", "+B", "@@", "-c", "+C"), "a\r\nB\r\nC\n"},
		{"no line end stays", "a\nb", envelope("@@", " a", "-b", "+B"), "a\nB"},
		{"no line end, append", "a", envelope("@@", " a", "+b"), "a\nb\n"},
		{"byte order mark", "\ufeffa\nb\n", envelope("@@", "-a", "+A"), "\ufeffA\nb\n"},
		{"fence", "a\n", "```diff\n" + envelope("@@", "-a", "+b") + "\n```\n", "b\n"},
		{"numbers in an envelope", twice, envelope("@@ -6,1 +6,1 @@", "-\treturn 1", "+\treturn 2"), "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"},

		{"unified", "a\nb\nc\n", unified("@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"), "a\nB\nc\n"},
		{"wrong counts", "a\nb\nc\n", unified("@@ -1,9 +7,2 @@", " a", "-b", "+B", " c"), "a\nB\nc\n"},
		{"wrong number", "a\nb\nc\n", unified("@@ -200,3 +1,3 @@ func x", " a", "-b", "+B", " c"), "a\nB\nc\n"},
		{"the number tells", twice, unified("@@ -6 +6 @@", "-\treturn 1", "+\treturn 2"), "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"},
		{"the number is near", twice, unified("@@ -7 +7 @@", "-\treturn 1", "+\treturn 2"), "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"},
		{"the drift tells", "q\n" + twice, unified("@@ -1,2 +1,2 @@", "-func a() {", "+func A() {", "@@ -6 +6 @@", "-\treturn 1", "+\treturn 2"), "q\nfunc A() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"},
		{"insert by number", "a\nb\n", unified("@@ -1,0 +2 @@", "+x"), "a\nx\nb\n"},
		{"insert at the start", "a\nb\n", unified("@@ -0,0 +1 @@", "+x"), "x\na\nb\n"},
		{"to no line end", "a\n", unified("@@ -1 +1 @@", "-a", "+b", `\ No newline at end of file`), "b"},
		{"from no line end", "a", unified("@@ -1 +1 @@", "-a", `\ No newline at end of file`, "+b"), "b\n"},
		{"no line end both", "a\nz", unified("@@ -1,2 +1,2 @@", "-a", "+b", " z", `\ No newline at end of file`), "b\nz"},
		{"a removed line with dashes", "-- x\nb\n", unified("@@ -1,2 +1,2 @@", "--- x", "+-- y", " b"), "-- y\nb\n"},
		{"lines that look like names", "-- x\nb\n", unified("@@ -1,2 +1,2 @@", "--- x", "+++ y", " b"), "++ y\nb\n"},
		{"blank context at the end", "a\nb\n\n\n", unified("@@ -1,4 +1,4 @@", " a", "-b", "+c", "", ""), "a\nc\n\n\n"},
		{"git", "a\n", "diff --git a/f b/f\nindex 1..2 100644\n" + unified("@@ -1 +1 @@", "-a", "+b") + "-- \n2.39.0\n", "b\n"},
		{"plain names", "a\n", "--- f\t2020-01-01\n+++ f\t2020-01-02\n@@ -1 +1 @@\n-a\n+b\n", "b\n"},
		{"words before", "a\n", "Here it is:\n\n" + unified("@@ -1 +1 @@", "-a", "+b"), "b\n"},
		{"everything goes", "a\nb\n", unified("@@ -1,2 +0,0 @@", "-a", "-b"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, after := run(t, map[string]string{"f": c.before}, c.patch)
			if r.IsError || !strings.Contains(r.Text, "f (+") || r.Summary != "1 file" {
				t.Errorf("the answer is %+v", r)
			}
			if after["f"] != c.after || len(after) != 1 {
				t.Errorf("the folder holds %q, want %q", after, c.after)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	before := map[string]string{"d/a.txt": "one\ntwo\nthree\n", "gone.txt": "g\n", "old.txt": "x\n"}
	for _, c := range []struct {
		name, patch, says string
		after             map[string]string
	}{
		{
			"everything", everything, "Patched 4 files:\nchanged d/a.txt (+1 -1)\nadded new/b.txt (1 line)\nremoved gone.txt\nmoved old.txt to moved/new.txt (+1 -1)\n",
			map[string]string{"d/a.txt": "one\n2\nthree\n", "new/b.txt": "b\n", "moved/new.txt": "y\n"},
		},
		{
			"unified", "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n--- a/old.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-x\n+y\n",
			"Patched 3 files:\nadded new (2 lines)\nremoved gone.txt\nmoved old.txt to new.txt (+1 -1)\n",
			map[string]string{"d/a.txt": "one\ntwo\nthree\n", "new": "a\nb", "new.txt": "y\n"},
		},
		{
			"git rename", "diff --git a/old.txt b/x/new.txt\nsimilarity index 100%\nrename from old.txt\nrename to x/new.txt\n", "moved old.txt to x/new.txt (+0 -0)",
			map[string]string{"d/a.txt": "one\ntwo\nthree\n", "gone.txt": "g\n", "x/new.txt": "x\n"},
		},
		{
			"git rename and change", "rename from old.txt\nrename to new.txt\nindex 1..2\n--- a/old.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-x\n+y\n", "moved old.txt to new.txt (+1 -1)",
			map[string]string{"d/a.txt": "one\ntwo\nthree\n", "gone.txt": "g\n", "new.txt": "y\n"},
		},
		{
			"empty file and blank lines", "*** Begin Patch\n\n*** Add File: e\n\n*** Delete File: ./d/../gone.txt\n\n*** End Patch\n\n", "added e (0 lines)",
			map[string]string{"d/a.txt": "one\ntwo\nthree\n", "old.txt": "x\n", "e": ""},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, after := run(t, before, c.patch)
			if r.IsError || !strings.Contains(r.Text, c.says) {
				t.Errorf("the answer is %+v, want %q", r, c.says)
			}
			if !maps.Equal(after, c.after) {
				t.Errorf("the folder holds %q, want %q", after, c.after)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	before := map[string]string{"f": twice, "g": "x\n", "bin": "a\x00b", "d/e": "x\n"}
	for _, c := range []struct {
		name, patch string
		says        []string
	}{
		{"nothing near", envelope("@@", "-SELECT 1", "+SELECT 2"), []string{"Nothing was changed", "f, hunk 1 (line 3 of the patch)", "nothing in the file is near"}},
		{"nearly", envelope("@@", " func b() {", "-\treturn 7", "+\treturn 8", " }"), []string{"f, hunk 1", "nearest passage begins at line 5; 2 of 3 lines agree", "- \treturn 7\n+ \treturn 1"}},
		{"several", envelope("@@", "-\treturn 1", "+\treturn 2"), []string{"2 places, at lines 2, 6", "@@ "}},
		{"a number between two", unified("@@ -4 +4 @@", "-\treturn 1", "+\treturn 2"), []string{"2 places"}},
		{"second hunk", envelope("@@", "-func a() {", "+func A() {", "@@", "-nowhere", "+x"), []string{"f, hunk 2 (line 6 of the patch)"}},
		{"second file", envelope("@@", "-func a() {", "+func A() {", "*** Update File: g", "@@", "-y", "+z"), []string{"g, hunk 1 (line 7 of the patch)"}},
		{"twice the same lines", envelope("@@", "-func a() {", "+x", "@@", "-func a() {", "+y"), []string{"hunk 2"}},
		{"only additions", envelope("@@", "+x"), []string{"does not say where"}},
		{"no change", envelope("@@", " func a() {"), []string{"changes nothing"}},
		{"the same", envelope("@@", "-func a() {", "+func a() {"), []string{"stays as it is"}},
		{"no hunk", envelope(), []string{"no change of f follows"}},
		{"bad line", envelope("@@", "-func a() {", "return"), []string{"Line 5 of the patch", "\"return\""}},
		{"cut off", "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n", []string{"cut off"}},
		{"behind the end", envelope("@@", "-func a() {", "+b") + "\n*** Delete File: g", []string{"something follows"}},
		{"unknown section", "*** Begin Patch\n--- a/f\n+++ b/f\n*** End Patch", []string{"Line 2", "*** Update File:"}},
		{"no envelope", "*** Update File: f\n@@\n-a\n+b\n", []string{"begin with `*** Begin Patch`"}},
		{"empty", "\n\n", []string{"names no file"}},
		{"words", "change a to b in f", []string{"names no file"}},
		{"hunk without a file", "@@ -1 +1 @@\n-a\n+b\n", []string{"before the lines `--- a/name`"}},
		{"no hunk in a diff", "--- a/f\n+++ b/f\n", []string{"no hunk follows"}},
		{"bad line in a diff", unified("@@ -1 +1 @@", "-func a() {", "+b", "return"), []string{"Line 6 of the patch", "\"return\""}},
		{"git binary", "diff --git a/x b/x\nBinary files a/x and b/x differ\n", []string{"binary"}},
		{"added line without plus", "*** Begin Patch\n*** Add File: n\n+a\nb\n*** End Patch", []string{"Line 4", "must begin with `+`"}},
		{"add what is there", "*** Begin Patch\n*** Add File: g\n+a\n*** End Patch", []string{"g exists already", "write"}},
		{"remove what is not there", "*** Begin Patch\n*** Delete File: h\n*** End Patch", []string{"no such file: h"}},
		{"change what is not there", "*** Begin Patch\n*** Update File: none/h\n@@\n-a\n+b\n*** End Patch", []string{"no such file: none/h"}},
		{"folder", "*** Begin Patch\n*** Update File: d\n@@\n-a\n+b\n*** End Patch", []string{"d is a folder"}},
		{"remove a folder", "*** Begin Patch\n*** Delete File: d\n*** End Patch", []string{"d is a folder"}},
		{"binary", "*** Begin Patch\n*** Update File: bin\n@@\n-a\n+b\n*** End Patch", []string{"binary"}},
		{"remove a part", "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-func a() {\n", []string{"leave lines there"}},
		{"move onto another", "*** Begin Patch\n*** Update File: f\n*** Move to: g\n*** End Patch", []string{"g exists already"}},
		{"one file twice", envelope("@@", "-func a() {", "+b", "*** Update File: ./f", "@@", "-x", "+y"), []string{"./f is named a second time"}},
		{"outside", "*** Begin Patch\n*** Add File: ../out\n+a\n*** End Patch", []string{"leaves the workspace"}},
		{"no name in a diff", "--- a/f\n+++ \n@@ -1 +1 @@\n-a\n+b\n", []string{"no name"}},
		{"no new name", "rename from f\nrename to \n", []string{"new name is missing"}},
		{"no name", "*** Begin Patch\n*** Delete File: \n*** End Patch", []string{"no name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, after := run(t, before, c.patch)
			if !r.IsError {
				t.Errorf("no error: %+v", r)
			}
			for _, s := range c.says {
				if !strings.Contains(r.Text, s) {
					t.Errorf("%q is not in %q", s, r.Text)
				}
			}
			if !maps.Equal(after, before) {
				t.Errorf("the folder holds %q", after)
			}
		})
	}
}

// TestLinks: nothing is changed through a link that leaves the workspace, and a link
// inside goes without what it leads to.
func TestLinks(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, outside := filepath.Join(base, "work"), filepath.Join(base, "outside")
	for _, d := range []string{dir, outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "f"), []byte("a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": "../outside/f", "away": "../outside", "in": "f"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skipf("this system makes no links: %v", err)
		}
	}
	ws, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	patch := func(lines ...string) tool.Result {
		args, _ := json.Marshal(map[string]any{"patch": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"})
		r, err := applypatch.New().Run(t.Context(), tool.Env{Workspace: ws}, tool.Call{ID: "c", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, lines := range [][]string{
		{"*** Update File: out", "-a", "+b"}, {"*** Update File: away/f", "-a", "+b"}, {"*** Delete File: out"}, {"*** Delete File: away/f"},
		{"*** Add File: away/new", "+b"}, {"*** Update File: f", "*** Move to: away/g"}, {"*** Update File: out", "*** Move to: mine"},
	} {
		if r := patch(lines...); !r.IsError || !strings.Contains(r.Text, "leaves the workspace") {
			t.Errorf("%q gives %+v", lines, r)
		}
	}
	if got, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(got) != "a\n" {
		t.Errorf("the outside file holds %q, %v", got, err)
	}
	if r := patch("*** Delete File: in"); r.IsError {
		t.Errorf("the removal of a link gives %+v", r)
	}
	if _, err := os.Lstat(filepath.Join(dir, "in")); !os.IsNotExist(err) {
		t.Errorf("the link is still there: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != "a\n" {
		t.Errorf("what the link led to holds %q, %v", got, err)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	blank := strings.Repeat("\n", 300_000)
	if r, _ := run(t, map[string]string{"f": blank}, envelope("@@", strings.Repeat(" \n", 50_000)+"-x", "+y")); !r.IsError || len(r.Text) > 4000 {
		t.Errorf("a hunk of blank lines gives %.300s", r.Text)
	}
	if r, _ := run(t, nil, strings.Repeat("x", 5<<20)); !r.IsError || !strings.Contains(r.Text, "several patches") {
		t.Errorf("a huge patch gives %.300s", r.Text)
	}
	if r, _ := run(t, map[string]string{"f": "a\n"}, envelope(strings.Repeat("@@\n-a\n+b\n", 1100))); !r.IsError || !strings.Contains(r.Text, "more than 1000 hunks") {
		t.Errorf("many hunks give %.300s", r.Text)
	}
}
