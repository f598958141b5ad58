package read_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/read"
	"github.com/cadre-dev/cadre/internal/tool/tooltest"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, tooltest.Case{
		New: read.New, Open: local.Open, Path: "path",
		Files: map[string]string{"d/a.txt": "one\ntwo\n"},
		Args:  map[string]any{"path": "d/a.txt", "limit": 1},
	})
}

func run(t *testing.T, files map[string]string, args string) tool.Result {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	r, err := read.New().Run(t.Context(), tool.Env{Workspace: ws, Progress: func(string) {}}, tool.Call{ID: "c", Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// many writes n numbered lines.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a": "one\ntwo\n\nfour", "empty": "", "crlf": "a\r\nb\r\n", "bom": "\ufeffx\n", "bin": "a\x00b",
		"latin": "gr\xfc\xdfe\n", "many": many(2500), "wide": strings.Repeat("ü", 3000) + "\nnext\n",
		"heavy": strings.Repeat(strings.Repeat("x", 1000)+"\n", 100), "README.md": "hi\n",
	}
	for _, c := range []struct {
		name, args string
		isError    bool
		has        []string
		hasNot     string
	}{
		{"whole", `{"path":"a"}`, false, []string{"     1\tone\n", "     3\t\n", "     4\tfour\n"}, "["},
		{"part", `{"path":"a","offset":2,"limit":1}`, false, []string{"     2\ttwo\n[lines 2-2 of 4; read on with offset 3]"}, "one"},
		{"rest", `{"path":"a","offset":4}`, false, []string{"     4\tfour\n"}, "read on"},
		{"behind the end", `{"path":"a","offset":5}`, true, []string{"`offset` 5", "4 lines"}, ""},
		{"zero", `{"path":"a","offset":0}`, true, []string{"`offset`", "1 or more"}, ""},
		{"negative", `{"path":"a","limit":-1}`, true, []string{"`limit`", "1 or more"}, ""},
		{"empty", `{"path":"empty"}`, false, []string{"is empty"}, ""},
		{"windows", `{"path":"crlf"}`, false, []string{"     1\ta\n     2\tb\n", `\r\n`}, "\r"},
		{"mark", `{"path":"bom"}`, false, []string{"     1\tx\n"}, "\ufeff"},
		{"binary", `{"path":"bin"}`, true, []string{"binary", "3 bytes"}, ""},
		{"old encoding", `{"path":"latin"}`, false, []string{"gr\ufffde"}, ""},
		{"long", `{"path":"many"}`, false, []string{"  2000\tline 2000\n[lines 1-2000 of 2500; read on with offset 2001]"}, "2001\t"},
		{"wide", `{"path":"wide"}`, false, []string{strings.Repeat("ü", 2000) + "…", "3000 characters", "     2\tnext"}, ""},
		{"heavy", `{"path":"heavy"}`, false, []string{"[lines 1-56 of 100; read on with offset 57]"}, ""},
		{"missing", `{"path":"REDME.md"}`, true, []string{"REDME.md", `mean "README.md"`}, ""},
		{"missing folder", `{"path":"no/such"}`, true, []string{"no/such", "list"}, ""},
		{"folder", `{"path":"."}`, true, []string{"folder", "list"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, files, c.args)
			if r.IsError != c.isError {
				t.Errorf("IsError is %v: %.300s", r.IsError, r.Text)
			}
			for _, part := range c.has {
				if !strings.Contains(r.Text, part) {
					t.Errorf("%q is not in %.300q", part, r.Text)
				}
			}
			if c.hasNot != "" && strings.Contains(r.Text, c.hasNot) {
				t.Errorf("%q is in %.300q", c.hasNot, r.Text)
			}
			if len(r.Text) > tool.MostText+200 {
				t.Errorf("the answer has %d bytes", len(r.Text))
			}
		})
	}
}

// picture is a PNG of a size.
func picture(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestImage(t *testing.T) {
	t.Parallel()
	data := picture(t, 30, 20)
	files := map[string]string{"a.txt": data, "large": data + strings.Repeat("\x00", tool.LargestImage), "cut": data[:20], "GIF": "GIF89a is the head of this text\n"}
	r := run(t, files, `{"path":"./a.txt","offset":1}`)
	if r.IsError || r.Summary != "image, 30 × 20" || !strings.Contains(r.Text, fmt.Sprintf("image/png, 30 × 20 pixels, %d bytes", len(data))) {
		t.Errorf("an image gives %+v", r)
	}
	if len(r.Files) != 1 || r.Files[0].Name != "a.txt" || r.Files[0].MediaType != "image/png" || string(r.Files[0].Data) != data {
		t.Errorf("the files beside the text are %.200v", r.Files)
	}
	for name, want := range map[string]string{"large": "more than the 5 MiB", "cut": "binary file of 20 bytes"} {
		if r := run(t, files, `{"path":"`+name+`"}`); !r.IsError || len(r.Files) > 0 || !strings.Contains(r.Text, want) {
			t.Errorf("%s gives %.300v, want %q", name, r, want)
		}
	}
	if r := run(t, files, `{"path":"GIF"}`); r.IsError || len(r.Files) > 0 {
		t.Errorf("a text that begins like an image gives %+v", r)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	r := run(t, map[string]string{"log": strings.Repeat("x", tool.LargestFile+1)}, `{"path":"log"}`)
	if !r.IsError || !strings.Contains(r.Text, "grep") || !strings.Contains(r.Text, fmt.Sprint(tool.LargestFile+1)) {
		t.Errorf("a huge file gives %+v, want its size and what to use", r)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	if r := run(t, map[string]string{"a": "1\n2\n3\n"}, `{"path":"a","offset":2}`); r.Summary != "2 lines" {
		t.Errorf("the summary is %q, want 2 lines", r.Summary)
	}
}
