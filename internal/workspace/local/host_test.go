package local_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/workspace"
	"github.com/cadre-dev/cadre/internal/workspace/local"
	"github.com/cadre-dev/cadre/internal/workspace/workspacetest"
)

func newHost(t *testing.T, mode proctree.Mode) *local.Host {
	t.Helper()
	forest, err := proctree.Open(t.Context(), proctree.Options{Dir: t.TempDir(), Boot: "boot_test", Mode: mode, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := forest.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return local.NewHost(forest)
}

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, mode := range []proctree.Mode{"", proctree.Group} {
		t.Run(string("mode "+mode), func(t *testing.T) {
			t.Parallel()
			workspacetest.RunCommands(t, func(t *testing.T, dir string) workspace.Workspace {
				t.Helper()
				w, err := newHost(t, mode).Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = w.Close() })
				return w
			})
		})
	}
}

// An execution's end takes its processes and leaves those of the session's others.
func TestAHostEndsByOwner(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	w, err := h.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	var all []workspace.Process
	for _, owner := range [][2]string{{"ses_1", "aex_1"}, {"ses_1", "aex_2"}, {"ses_2", "aex_3"}} {
		p, err := w.Start(t.Context(), workspace.Command{ID: "p" + owner[1], Session: owner[0], Execution: owner[1], Line: "sleep 1000", Background: true})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	alive := func() (n int) {
		for _, p := range all {
			select {
			case <-p.Done():
			default:
				n++
			}
		}
		return n
	}
	if err := h.End(t.Context(), "ses_1", "aex_1"); err != nil || alive() != 2 {
		t.Errorf("after the end of one execution %d are alive (%v)", alive(), err)
	}
	if err := h.Forget(t.Context(), "ses_1"); err != nil || alive() != 1 {
		t.Errorf("after the end of its session %d are alive (%v)", alive(), err)
	}
	if _, err := w.Process("ses_1", "paex_1"); err == nil {
		t.Error("a forgotten session's process is found")
	}
	if err := h.End(t.Context(), "ses_2", ""); err != nil || alive() != 0 {
		t.Errorf("after the end of all %d are alive (%v)", alive(), err)
	}
}

func TestAFolderWithoutAHostRunsNothing(t *testing.T) {
	t.Parallel()
	w, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if _, err := w.Start(t.Context(), workspace.Command{Line: "true"}); err == nil {
		t.Error("it ran a command")
	}
}
