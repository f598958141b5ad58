package workspacetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// clean fails the test when a temporary file is left in a folder.
func (f fixture) clean(t *testing.T, folder string) {
	t.Helper()
	for _, n := range names(t, filepath.Join(f.dir, folder)) {
		if strings.HasPrefix(n, ".cadre-tmp-") {
			t.Errorf("%s/%s is left", folder, n)
		}
	}
}

func testReplaceNew(t *testing.T, f fixture) {
	large := strings.Repeat("line\n", 1_000_000)
	for name, text := range map[string]string{"a": "x", "d/e/f": "deep", "empty": "", "bin": "\x00\xff", "large": large} {
		r := workspace.Replacement{Path: name, Data: []byte(text), Token: "call/../1 " + strings.Repeat("x", 300)}
		if err := f.ws.Replace(t.Context(), r); err != nil {
			t.Errorf("Replace(%s): %v", name, err)
		}
		f.holds(t, name, text)
	}
	f.clean(t, ".")
	f.clean(t, "d/e")
	if err := f.ws.Replace(t.Context(), workspace.Replacement{Path: "a", Data: []byte("y")}); err != nil {
		t.Errorf("without Token and Before: %v", err)
	}
	f.holds(t, "a", "y")
}

func testReplaceKeepsMode(t *testing.T, f fixture) {
	if runtime.GOOS == "windows" {
		t.Skip("this system has no modes")
	}
	for _, mode := range []os.FileMode{0o755, 0o600, 0o666, 0o444} {
		name := fmt.Sprintf("m%o", mode)
		f.put(t, map[string]string{name: "old"})
		if err := os.Chmod(filepath.Join(f.dir, name), mode); err != nil {
			t.Fatal(err)
		}
		if err := f.ws.Replace(t.Context(), workspace.Replacement{Path: name, Data: []byte("new"), Token: "t"}); err != nil {
			t.Errorf("Replace(%s): %v", name, err)
		}
		info, err := f.ws.Stat(t.Context(), name)
		if err != nil || info.Mode.Perm() != mode {
			t.Errorf("the mode is %v, %v, want %v", info.Mode, err, mode)
		}
	}
	if err := f.ws.Replace(t.Context(), workspace.Replacement{Path: "new", Token: "t"}); err != nil {
		t.Fatal(err)
	}
	if info, err := f.ws.Stat(t.Context(), "new"); err != nil || info.Mode.Perm()&^0o644 != 0 || info.Mode.Perm()&0o600 != 0o600 {
		t.Errorf("a new file's mode is %v, %v, want 0644 at most", info.Mode, err)
	}
}

func testReplaceBefore(t *testing.T, f fixture) {
	f.put(t, map[string]string{"a": "one"})
	for _, c := range []struct {
		path, before string
		want         error
	}{
		{"a", workspace.Absent, workspace.ErrChanged},
		{"a", digest("other"), workspace.ErrChanged},
		{"none", digest("one"), workspace.ErrChanged},
		{"none/none", digest("one"), workspace.ErrChanged},
		{"a", digest("one"), nil},
		{"new/b", workspace.Absent, nil},
	} {
		err := f.ws.Replace(t.Context(), workspace.Replacement{Path: c.path, Data: []byte("two"), Before: c.before, Token: "t"})
		if c.want == nil && err != nil {
			t.Errorf("Replace(%s) with %.8s: %v", c.path, c.before, err)
		}
		if c.want != nil {
			wants(t, fmt.Sprintf("Replace(%s) with %.8s", c.path, c.before), err, c.want)
		}
	}
	f.holds(t, "a", "two")
	f.holds(t, "new/b", "two")
	f.clean(t, ".")
	if got := names(t, f.dir); len(got) != 2 {
		t.Errorf("the folder holds %q: a refused Replace left something", got)
	}
}

func testReplaceRefuses(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/a": "x"})
	for path, want := range map[string]error{".": workspace.ErrIsFolder, "d": workspace.ErrIsFolder, "d/a/b": workspace.ErrNotFolder, "d/a/b/c": workspace.ErrNotFolder} {
		err := f.ws.Replace(t.Context(), workspace.Replacement{Path: path, Data: []byte("y"), Token: "t"})
		wants(t, "Replace of "+path, err, want)
	}
	long := strings.Repeat("n", 5000)
	wants(t, "Replace of a long name", f.ws.Replace(t.Context(), workspace.Replacement{Path: long}), workspace.ErrBadPath)
	f.holds(t, "d/a", "x")
	f.clean(t, "d")
}

// testReplaceRace: of many who start from the same state exactly one wins.
func testReplaceRace(t *testing.T, f fixture) {
	const writers = 16
	state := workspace.Absent
	for round := range 5 {
		var won atomic.Int32
		var last atomic.Value
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				text := fmt.Sprintf("round %d writer %d", round, i)
				token := fmt.Sprint(i % 3) // some share a token
				err := f.ws.Replace(t.Context(), workspace.Replacement{Path: "a", Data: []byte(text), Before: state, Token: token})
				if err == nil {
					won.Add(1)
					last.Store(text)
				} else if !errors.Is(err, workspace.ErrChanged) {
					t.Errorf("the loser's error is %v", err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d writers won, want 1", won.Load())
		}
		f.holds(t, "a", last.Load().(string))
		state = digest(last.Load().(string))
	}
	f.clean(t, ".")
}

// testReplaceIsAtomic: a reader sees one writer's bytes and never a mixture.
func testReplaceIsAtomic(t *testing.T, f fixture) {
	const size = 200_000
	write := func(b byte) error {
		return f.ws.Replace(t.Context(), workspace.Replacement{Path: "a", Data: bytes.Repeat([]byte{b}, size), Token: string(b)})
	}
	if err := write('a'); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	var done atomic.Int32
	for _, b := range []byte("bc") {
		writing.Go(func() {
			defer done.Add(1)
			for range 15 {
				if err := write(b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for done.Load() < 2 {
		got, err := f.ws.Read(t.Context(), "a", size)
		if err != nil || len(got) != size || !bytes.Equal(got, bytes.Repeat(got[:1], size)) {
			t.Errorf("a reader saw %d mixed bytes, %v", len(got), err)
			break
		}
	}
	writing.Wait()
}

func testTidy(t *testing.T, f fixture) {
	f.put(t, map[string]string{"d/a": "x", "d/.cadre-tmp-other": "y"})
	for _, path := range []string{"d/a", "d/none", "none/none"} {
		if err := f.ws.Tidy(t.Context(), path, "token"); err != nil {
			t.Errorf("Tidy(%s) with nothing to do: %v", path, err)
		}
	}
	f.holds(t, "d/a", "x")
	f.holds(t, "d/.cadre-tmp-other", "y")
}

func testContextEnds(t *testing.T, f fixture) {
	f.put(t, map[string]string{"a": "x"})
	cause := errors.New("the test ends it")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, read := f.ws.Read(ctx, "a", 10)
	_, stat := f.ws.Stat(ctx, "a")
	_, list := f.ws.List(ctx, ".")
	_, sum := f.ws.Digest(ctx, "a")
	replace := f.ws.Replace(ctx, workspace.Replacement{Path: "a", Data: []byte("y"), Token: "t"})
	remove := f.ws.Replace(ctx, workspace.Replacement{Path: "a", Remove: true})
	all := map[string]error{"Read": read, "Stat": stat, "List": list, "Digest": sum, "Replace": replace, "Remove": remove, "Tidy": f.ws.Tidy(ctx, "a", "t"), "Walk": nil}
	for _, err := range f.ws.Walk(ctx, ".") {
		all["Walk"] = err
	}
	for what, err := range all {
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v, want the context's cause", what, err)
		}
	}
	f.holds(t, "a", "x")
	f.clean(t, ".")
}
