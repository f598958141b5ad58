package workspacetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

func testLinksInside(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/e/a.txt": "old"})
	f.link(t, "d/e/a.txt", "file")
	f.link(t, "d/e", "folder")
	f.link(t, "../e/a.txt", "d/e/up")
	f.link(t, "made.txt", "dangling")
	for _, name := range []string{"file", "folder/a.txt", "d/e/up", "folder/up"} {
		if got, err := f.ws.Read(t.Context(), name, 10); err != nil || string(got) != "old" {
			t.Errorf("Read(%s) = %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"file", "folder/up"} {
		r := workspace.Replacement{Path: name, Data: []byte("by " + name), Token: "t"}
		if err := f.ws.Replace(t.Context(), r); err != nil {
			t.Errorf("Replace(%s): %v", name, err)
		}
		f.holds(t, "d/e/a.txt", "by "+name)
	}
	if got, err := f.ws.Digest(t.Context(), "dangling"); got != workspace.Absent || err != nil {
		t.Errorf("Digest of a link to nothing = %q, %v", got, err)
	}
	r := workspace.Replacement{Path: "dangling", Data: []byte("x"), Before: workspace.Absent, Token: "t"}
	if err := f.ws.Replace(t.Context(), r); err != nil {
		t.Errorf("Replace through a link to nothing: %v", err)
	}
	f.holds(t, "made.txt", "x")
	for _, name := range []string{"file", "dangling"} {
		if info, err := f.ws.Stat(t.Context(), name); err != nil || info.Link == "" {
			t.Errorf("%s is no link any more: %+v, %v", name, info, err)
		}
	}
	f.link(t, "loop", "loop")
	if _, err := f.ws.Read(t.Context(), "loop", 10); err == nil {
		t.Error("Read of a link to itself gives something")
	}
	if err := f.ws.Replace(t.Context(), workspace.Replacement{Path: "loop", Token: "t"}); err == nil {
		t.Error("Replace of a link to itself does something")
	}
}

func testLinksOutside(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/a.txt": "x"})
	f.link(t, "../outside/secret.txt", "file")
	f.link(t, "../outside", "folder")
	f.link(t, f.outside, "absolute")
	f.link(t, "../../outside/new.txt", "d/new")
	f.link(t, f.outside+"/secret.txt", "absolute-file")
	for _, name := range []string{"folder/secret.txt", "absolute/secret.txt", "folder/new.txt", "absolute/d/new.txt"} {
		for what, err := range f.everything(t, name) {
			wants(t, what+" of "+name, err, workspace.ErrOutside)
		}
	}
	for _, name := range []string{"file", "d/new", "absolute-file"} {
		_, err := f.ws.Read(t.Context(), name, 10)
		wants(t, "Read of "+name, err, workspace.ErrOutside)
		_, err = f.ws.Digest(t.Context(), name)
		wants(t, "Digest of "+name, err, workspace.ErrOutside)
		err = f.ws.Replace(t.Context(), workspace.Replacement{Path: name, Data: []byte("bad"), Token: "t"})
		wants(t, "Replace of "+name, err, workspace.ErrOutside)
	}
	_, err := f.ws.List(t.Context(), "folder")
	wants(t, "List of a link out", err, workspace.ErrOutside)
	for info, err := range f.ws.Walk(t.Context(), ".") {
		if err != nil || filepath.Base(info.Path) == "secret.txt" {
			t.Errorf("Walk leaves the folder: %+v, %v", info, err)
		}
	}
	f.untouched(t)
}

// untouched checks the folder beside the workspace.
func (f fixture) untouched(t *testing.T) {
	t.Helper()
	if all := names(t, f.outside); len(all) != 1 {
		t.Errorf("the outside folder holds %q now", all)
	}
	if got, err := os.ReadFile(filepath.Join(f.outside, "secret.txt")); err != nil || string(got) != "outside" {
		t.Errorf("the outside file holds %q, %v", got, err)
	}
}

// testLinkRace swaps a folder for a link out of the workspace, and back, while
// it is read and written through.
func testLinkRace(t *testing.T, f fixture) {
	const enough, most = 40, 50_000
	f.put(t, map[string]string{"sub/secret.txt": "inside"})
	ctx, stop := context.WithCancel(t.Context())
	var swapping sync.WaitGroup
	swapping.Go(func() { defer stop(); f.swap(ctx, t) })
	var read, written tally
	for i := 0; i < most && ctx.Err() == nil && !(read.least(enough) && written.least(enough)); i++ {
		got, err := f.ws.Read(t.Context(), "sub/secret.txt", 100)
		if err == nil && string(got) != "inside" {
			t.Errorf("Read gives %q from outside", got)
		}
		read.count(err)
		written.count(f.ws.Replace(t.Context(), workspace.Replacement{
			Path: "sub/secret.txt", Data: []byte("inside"), Before: digest("inside"), Token: "t",
		}))
		f.listed(t)
	}
	stop()
	swapping.Wait()
	if !read.least(enough) || !written.least(enough) {
		t.Errorf("too little traffic: read %+v, written %+v", read, written)
	}
	f.untouched(t)
}

// tally counts how often the race was won and lost.
type tally struct{ passed, refused int }

func (c *tally) count(err error) {
	switch {
	case err == nil:
		c.passed++
	case errors.Is(err, workspace.ErrOutside):
		c.refused++
	}
}

func (c *tally) least(n int) bool { return c.passed >= n && c.refused >= n }

// listed looks at the folder that is being swapped; the outside has one entry of
// 7 bytes, the inside one of 6 and perhaps others.
func (f fixture) listed(t *testing.T) {
	all, err := f.ws.List(t.Context(), "sub")
	if err != nil {
		return
	}
	for _, info := range all {
		if info.Size == int64(len("outside")) {
			t.Errorf("List shows the outside: %+v", info)
		}
	}
}

func (f fixture) swap(ctx context.Context, t *testing.T) {
	sub, aside := filepath.Join(f.dir, "sub"), filepath.Join(f.dir, "aside")
	for ctx.Err() == nil {
		err := errors.Join(os.Rename(sub, aside), os.Symlink(f.outside, sub))
		if err == nil {
			err = errors.Join(os.Remove(sub), os.Rename(aside, sub))
		}
		if err != nil {
			t.Errorf("the folder could not be swapped: %v", err)
			return
		}
	}
}
