package workspace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

func TestRel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ root, name, want string }{
		{"/w", "a/b", "a/b"},
		{"/w", "", "."},
		{"/w", ".", "."},
		{"/w", "./a//b/", "a/b"},
		{"/w", "a/../b", "b"},
		{"/w", "..a", "..a"},
		{"/w", "/w", "."},
		{"/w", "/w/", "."},
		{"/w", "/w/a", "a"},
		{"/w", "/w/x/../a", "a"},
		{"/", "/a", "a"},
		{"/", "/", "."},
	} {
		if got, err := workspace.Rel(c.root, c.name); got != c.want || err != nil {
			t.Errorf("Rel(%q, %q) = %q, %v, want %q", c.root, c.name, got, err, c.want)
		}
	}
}

func TestRelRefuses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", "../w", "a/../../b", "/", "/wx", "/w/../x", "/etc/passwd"} {
		_, err := workspace.Rel("/w", name)
		if !errors.Is(err, workspace.ErrOutside) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "/w") {
			t.Errorf("Rel(/w, %q): %v, want ErrOutside with both paths", name, err)
		}
	}
	if _, err := workspace.Rel("/w", "a\x00b"); !errors.Is(err, workspace.ErrBadPath) {
		t.Errorf("a zero byte: %v, want ErrBadPath", err)
	}
}
