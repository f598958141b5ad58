package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/store"
)

// nodeFile keeps the id of the server of a data folder, over its restarts.
const nodeFile = "node.id"

// openShared notes whether other servers may work on the store, and who this one is.
func (a *App) openShared() error {
	shared, ok := store.Inner(a.store).(store.Shared)
	if !ok {
		return nil
	}
	node, err := nodeID(a.opt.DataDir)
	a.shared, a.node = shared, node
	return err
}

func nodeID(dir string) (string, error) {
	path := filepath.Join(dir, nodeFile)
	data, err := os.ReadFile(path)
	if node := strings.TrimSpace(string(data)); err == nil && node != "" {
		return node, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	node := id.New("nod")
	return node, os.WriteFile(path, []byte(node+"\n"), 0o600)
}

// join makes this server known to the others before it takes over what its
// predecessor left, and has them heard.
func (a *App) join(ctx context.Context) error {
	if a.shared == nil {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if err := a.shared.Join(ctx, store.Node{ID: a.node, Boot: a.boot, Host: host}); err != nil {
		return err
	}
	a.onClose("node", func(ctx context.Context) error { return a.shared.Leave(ctx, a.node) })
	a.shared.OnHint(func(h store.Hint) {
		a.events.Hint(h)
		a.control.Hint(h)
	}, func() []string { return append(a.events.Watched(), a.runner.Sessions()...) })
	a.log.InfoContext(ctx, "this server shares its store", "node", a.node, "host", host)
	return nil
}

// digestKey is what bodies are digested with for idempotency. Servers that share a
// store must agree on it.
func (a *App) digestKey() ([]byte, error) {
	if a.shared == nil {
		return config.Key(a.opt.DataDir, config.DigestKey)
	}
	key := sha256.Sum256([]byte("bodies of " + a.ledger))
	return key[:], nil
}
