// Package handstest runs the program of sandboxes in the test's process, for drivers that
// are fakes.
package handstest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cadre-dev/cadre/internal/hands"
	"github.com/cadre-dev/cadre/internal/proctree"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/workspace/local"
)

// Inside are the insides of a world's sandboxes: a folder each, which outlives the program.
type Inside struct {
	t     *testing.T
	dir   string
	boots atomic.Int64
}

// New makes them, in a folder of the test.
func New(t *testing.T) *Inside {
	t.Helper()
	return &Inside{t: t, dir: t.TempDir()}
}

// Folder is the workspace of a sandbox, as the test sees it.
func (i *Inside) Folder(k sandbox.Key) string { return filepath.Join(i.dir, sandbox.Name(k)) }

// Run starts the program of a sandbox on the socket in a line's folder. It ends with stop,
// and with it all that it started.
func (i *Inside) Run(k sandbox.Key, line string) (stop func()) {
	boot := "boot_" + string(rune('a'+i.boots.Add(1)))
	if err := os.MkdirAll(i.Folder(k), 0o755); err != nil {
		i.t.Error(err)
		return func() {}
	}
	records, err := os.MkdirTemp("", "hands-")
	if err != nil {
		i.t.Error(err)
		return func() {}
	}
	log := slog.New(slog.DiscardHandler)
	forest, err := proctree.Open(context.Background(), proctree.Options{Dir: records, Boot: boot, Log: log})
	if err != nil {
		i.t.Error(err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	host := local.NewHost(forest)
	way, err := hands.Proxy(ctx, filepath.Join(line, sandbox.SocketName))
	if err != nil {
		i.t.Error(err)
	}
	host.Give(way...)
	h, err := hands.New(hands.Options{Host: host, Root: i.Folder(k), Boot: boot, UID: os.Getuid()})
	if err != nil {
		i.t.Error(err)
		return cancel
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Serve(ctx, hands.Unix(filepath.Join(line, sandbox.SocketName)), log)
		_ = forest.Close(context.Background())
		_ = h.Close()
		_ = os.RemoveAll(records)
	}()
	var once sync.Once
	return func() { once.Do(func() { cancel(); <-done }) }
}
