package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/local"
	"github.com/cadre-dev/cadre/internal/workspace/workspacetest"
)

func open(t *testing.T, dir string) workspace.Workspace {
	t.Helper()
	ws, err := local.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return ws
}

func TestSuite(t *testing.T) {
	t.Parallel()
	workspacetest.Run(t, open)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		code fault.Code
		says string
	}{
		"":                          {fault.InvalidArgument, "full path"},
		"relative":                  {fault.InvalidArgument, "full path"},
		filepath.Join(dir, "x"):     {fault.NotFound, "create the folder"},
		file:                        {fault.InvalidArgument, "name the folder that holds it"},
		filepath.Join(file, "x"):    {fault.Unavailable, "cannot be opened"},
		filepath.Join(dir, "a\x00"): {fault.Unavailable, "cannot be opened"},
	} {
		ws, err := local.Open(path)
		if ws != nil || fault.CodeOf(err) != want.code || !strings.Contains(fault.From(err).Message, want.says) {
			t.Errorf("Open(%q) = %v, %v, want %s %q", path, ws, err, want.code, want.says)
		}
	}
}

// TestOtherName: a path below the folder's real place is inside, also when the
// workspace was opened through a link.
func TestOtherName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("this system makes no links: %v", err)
	}
	ws := open(t, link)
	if err := ws.Replace(t.Context(), workspace.Replacement{Path: filepath.Join(real, "a"), Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(real, "a"), filepath.Join(link, "a"), "a"} {
		if got, err := ws.Read(t.Context(), name, 1); err != nil || string(got) != "x" {
			t.Errorf("Read(%s) = %q, %v", name, got, err)
		}
	}
}
