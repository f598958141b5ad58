package lane_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// line only takes connections.
type line struct{ net.Listener }

func newLine(l net.Listener) lane.Line { return line{l} }

func (line) Open(context.Context) (workspace.Workspace, error) { return nil, workspace.ErrFailed }
func (line) Connected() bool                                   { return false }
func (line) End(context.Context, string, string, bool) error   { return nil }

func TestLines(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 25), "lines")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k := sandbox.Key{Scope: sandbox.Session, ID: "ses_1"}
	lines := lane.NewLines(dir, newLine)
	first, err := lines.Open(k)
	if err != nil {
		t.Fatal(err)
	}
	again, err := lines.Open(k)
	if err != nil || again != first || lines.Line(k) == nil {
		t.Fatalf("opened a second time it says %q, %v", again, err)
	}
	dial(t, first)
	if err := lines.Close(); err != nil {
		t.Error(err)
	}
	if _, err := lines.Open(sandbox.Key{Scope: sandbox.Session, ID: "ses_2"}); err == nil {
		t.Error("a line was opened after the end")
	}

	// The next server listens in the very folder that the sandbox has.
	held, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	next := lane.NewLines(dir, newLine)
	if _, err := next.Open(k); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(first); err != nil || !os.SameFile(held, now) {
		t.Errorf("the folder is another one, %v", err)
	}
	dial(t, first)
	if err := next.Drop(k); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(first); !os.IsNotExist(err) || next.Line(k) != nil {
		t.Errorf("what was dropped is still there, %v", err)
	}
	if err := next.Drop(k); err != nil {
		t.Errorf("dropped again: %v", err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// dial reaches the socket in a folder, however long the folder's name is.
func dial(t *testing.T, dir string) {
	t.Helper()
	short := filepath.Join(t.TempDir(), "l")
	if err := os.Symlink(dir, short); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", filepath.Join(short, sandbox.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
