package workspacetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/workspace"
)

func testRead(t *testing.T, f fixture) {
	files := map[string]string{"a.txt": "hello\n", "empty": "", "bin": "\x00\xff\x01", "d/e/f.txt": "deep", "wörd": "ü"}
	f.put(t, files)
	for name, want := range files {
		got, err := f.ws.Read(t.Context(), name, 1<<20)
		if err != nil || string(got) != want {
			t.Errorf("Read(%s) = %q, %v, want %q", name, got, err, want)
		}
	}
	_, err := f.ws.Read(t.Context(), "d/none.txt", 1)
	wants(t, "a missing file", err, workspace.ErrNotFound)
	if m := fault.From(err).Message; !strings.Contains(m, "d/none.txt") {
		t.Errorf("the message %q does not name the path", m)
	}
	_, err = f.ws.Read(t.Context(), "none/none.txt", 1)
	wants(t, "a missing folder", err, workspace.ErrNotFound)
	_, err = f.ws.Read(t.Context(), "d", 1)
	wants(t, "a folder", err, workspace.ErrIsFolder)
	_, err = f.ws.Read(t.Context(), "a.txt/b", 1)
	wants(t, "a path through a file", err, workspace.ErrNotFolder)
}

func testReadLimit(t *testing.T, f fixture) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
	f.put(t, map[string]string{"large": string(large)})
	got, err := f.ws.Read(t.Context(), "large", int64(len(large)))
	if err != nil || !bytes.Equal(got, large) {
		t.Errorf("a file just at the limit: %d bytes, %v", len(got), err)
	}
	_, err = f.ws.Read(t.Context(), "large", int64(len(large))-1)
	wants(t, "a byte too many", err, workspace.ErrTooLarge)
	if got, want := fault.From(err).Meta["size"], fmt.Sprint(len(large)); got != want {
		t.Errorf("the size in the error is %q, want %q", got, want)
	}
}

func testPaths(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/a.txt": "x"})
	for _, name := range []string{"d/a.txt", "./d//a.txt", "d/../d/a.txt", f.ws.Name() + "/d/a.txt"} {
		if got, err := f.ws.Read(t.Context(), name, 10); err != nil || string(got) != "x" {
			t.Errorf("Read(%s) = %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"..", "../outside/secret.txt", "d/../../outside/secret.txt", "/etc/hostname", f.outside + "/secret.txt", f.ws.Name() + "x"} {
		for what, err := range f.everything(t, name) {
			wants(t, what+" of "+name, err, workspace.ErrOutside)
			if m := fault.From(err).Message; !strings.Contains(m, name) || !strings.Contains(m, f.ws.Name()) {
				t.Errorf("%s of %s: the message %q does not name the path and the workspace", what, name, m)
			}
		}
	}
	for what, err := range f.everything(t, "a\x00b") {
		wants(t, what+" of a path with a zero byte", err, workspace.ErrBadPath)
	}
}

// everything tries all methods on one path and gives their errors.
func (f fixture) everything(t *testing.T, name string) map[string]error {
	t.Helper()
	ctx, all := t.Context(), map[string]error{}
	_, all["Read"] = f.ws.Read(ctx, name, 1<<20)
	_, all["Stat"] = f.ws.Stat(ctx, name)
	_, all["List"] = f.ws.List(ctx, name)
	_, all["Digest"] = f.ws.Digest(ctx, name)
	all["Replace"] = f.ws.Replace(ctx, workspace.Replacement{Path: name, Data: []byte("new"), Token: "t"})
	all["Tidy"] = f.ws.Tidy(ctx, name, "t")
	for _, err := range f.ws.Walk(ctx, name) {
		all["Walk"] = err
	}
	return all
}

func testStat(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/a.txt": "12345"})
	f.link(t, "d/a.txt", "l")
	for name, want := range map[string]workspace.Info{
		".":       {Path: ".", IsDir: true},
		"d":       {Path: "d", IsDir: true},
		"d/a.txt": {Path: "d/a.txt", Size: 5},
		"l":       {Path: "l", Link: "d/a.txt"},
	} {
		got, err := f.ws.Stat(t.Context(), name)
		if err != nil || got.Path != want.Path || got.IsDir != want.IsDir || got.Link != want.Link {
			t.Errorf("Stat(%s) = %+v, %v, want %+v", name, got, err, want)
		}
		if want.Size > 0 && got.Size != want.Size {
			t.Errorf("Stat(%s): %d bytes, want %d", name, got.Size, want.Size)
		}
		if got.Mode.IsDir() != want.IsDir || (got.Mode&fs.ModeSymlink != 0) != (want.Link != "") {
			t.Errorf("Stat(%s): mode %v does not fit", name, got.Mode)
		}
	}
	_, err := f.ws.Stat(t.Context(), "none")
	wants(t, "Stat of nothing", err, workspace.ErrNotFound)
}

func testList(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/b": "1", "d/a/x": "2", "d/.h": "3", "d/Z": "4", "d/.gitignore": "b\n", "d/.cadre-tmp-x": "5"})
	all, err := f.ws.List(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, info := range all {
		got = append(got, info.Path)
	}
	if want := []string{"d/.gitignore", "d/.h", "d/Z", "d/a", "d/b"}; !slices.Equal(got, want) {
		t.Errorf("List(d) = %q, want %q", got, want)
	}
	_, err = f.ws.List(t.Context(), "d/b")
	wants(t, "List of a file", err, workspace.ErrNotFolder)
	_, err = f.ws.List(t.Context(), "none")
	wants(t, "List of nothing", err, workspace.ErrNotFound)
}

func testDigest(t *testing.T, f fixture) {
	f.put(t, map[string]string{"a": "hello", "d/x": ""})
	sum := sha256.Sum256([]byte("hello"))
	for name, want := range map[string]string{"a": hex.EncodeToString(sum[:]), "none": workspace.Absent, "none/none": workspace.Absent} {
		if got, err := f.ws.Digest(t.Context(), name); got != want || err != nil {
			t.Errorf("Digest(%s) = %q, %v, want %q", name, got, err, want)
		}
	}
	_, err := f.ws.Digest(t.Context(), "d")
	wants(t, "Digest of a folder", err, workspace.ErrIsFolder)
}
