//go:build unix

package local_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// TestPipe: a pipe that nobody writes to must not hang an agent.
func TestPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skipf("this system makes no pipes: %v", err)
	}
	ws := open(t, dir)
	_, read := ws.Read(t.Context(), "pipe", 10)
	_, digest := ws.Digest(t.Context(), "pipe")
	replace := ws.Replace(t.Context(), workspace.Replacement{Path: "pipe", Data: []byte("x"), Token: "t"})
	for what, err := range map[string]error{"Read": read, "Digest": digest, "Replace": replace} {
		if !errors.Is(err, workspace.ErrNotFile) {
			t.Errorf("%s of a pipe: %v, want ErrNotFile", what, err)
		}
	}
}
