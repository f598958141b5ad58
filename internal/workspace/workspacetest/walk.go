package workspacetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// walked gives the paths of a walk, folders with a trailing slash.
func (f fixture) walked(t *testing.T, name string) []string {
	t.Helper()
	var all []string
	for info, err := range f.ws.Walk(t.Context(), name) {
		if err != nil {
			t.Fatalf("Walk(%s): %v", name, err)
		}
		if info.IsDir {
			info.Path += "/"
		}
		all = append(all, info.Path)
	}
	return all
}

func (f fixture) walks(t *testing.T, name, want string) {
	t.Helper()
	if got := f.walked(t, name); !slices.Equal(got, strings.Fields(want)) {
		t.Errorf("Walk(%s) gives\n%q, want\n%q", name, got, strings.Fields(want))
	}
}

func testWalk(t *testing.T, f fixture) {
	f.put(t, map[string]string{
		"b": "1", "a/y": "2", "a/x/z": "3", "a-b": "4", ".git/config": "5", "sub/.git": "6", "sub/k": "7", ".cadre-tmp-1": "8",
	})
	f.link(t, "a", "l")
	f.walks(t, ".", "a/ a/x/ a/x/z a/y a-b b l sub/ sub/k")
	f.walks(t, "a", "a/x/ a/x/z a/y")
	f.walks(t, f.ws.Name()+"/a/x", "a/x/z")
	for name, want := range map[string]error{"none": workspace.ErrNotFound, "b": workspace.ErrNotFolder} {
		n := 0
		for info, err := range f.ws.Walk(t.Context(), name) {
			wants(t, "Walk of "+name, err, want)
			if n++; info.Path != "" {
				t.Errorf("Walk(%s) gives %+v with its error", name, info)
			}
		}
		if n != 1 {
			t.Errorf("Walk(%s) gives %d times, want one error", name, n)
		}
	}
}

func testWalkIgnores(t *testing.T, f fixture) {
	f.put(t, map[string]string{
		".gitignore": "# a comment\n\n*.log\r\n!keep.log\n/top\nbuild/\nd/**/deep\nx[12]\n\\!odd\n\\#hash\ntrail \n[bad\nq/*\n!q/r\n",
		"a.log":      "", "keep.log": "", "top": "", "x1": "", "x3": "", "!odd": "", "#hash": "", "trail": "",
		"build/out": "", "s/build/out": "", "s/top": "", "s/a.log": "", "n/build": "",
		"d/deep": "", "d/e/f/deep": "", "d/e/f/g": "", "q/r": "", "q/s": "",
		"s/.gitignore": "!a.log\nk\n/b/c\n", "s/k": "", "k": "", "s/b/c": "", "s/t/b/c": "",
	})
	f.walks(t, ".", ".gitignore d/ d/e/ d/e/f/ d/e/f/g k keep.log n/ n/build q/ q/r "+
		"s/ s/.gitignore s/a.log s/b/ s/t/ s/t/b/ s/t/b/c s/top x3")
	f.walks(t, "s", "s/.gitignore s/a.log s/b/ s/t/ s/t/b/ s/t/b/c s/top")
	f.walks(t, "build", "build/out")
}

func testWalkStops(t *testing.T, f fixture) {
	f.put(t, map[string]string{"a/1": "", "a/2": "", "b/3": ""})
	n := 0
	for _, err := range f.ws.Walk(t.Context(), ".") {
		if err != nil {
			t.Error(err)
		}
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d entries came, want to stop at 2", n)
	}
}
