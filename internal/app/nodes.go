package app

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/cli"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/standard"
	"github.com/cadre-dev/cadre/internal/store"
)

// Nodes are the servers of a database that several share.
func Nodes(ctx context.Context, dir string) ([]cli.Node, error) {
	s, shared, err := openNodes(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	return listNodes(ctx, s, shared)
}

// ForgetNode gives what a server that is gone for good had at work to the others. The
// caller vouches for its end: one that is heard is refused.
func ForgetNode(ctx context.Context, dir, id string) (cli.Node, error) {
	s, shared, err := openNodes(ctx, dir)
	if err != nil {
		return cli.Node{}, err
	}
	defer func() { _ = s.Close() }()
	all, err := listNodes(ctx, s, shared)
	if err != nil {
		return cli.Node{}, err
	}
	i := slices.IndexFunc(all, func(n cli.Node) bool { return n.ID == id })
	switch {
	case i < 0:
		return cli.Node{}, fault.New(fault.NotFound, "NODE_NOT_FOUND", "there is no server %q: `cadre nodes` lists them", id)
	case all[i].Alive:
		return cli.Node{}, fault.New(fault.FailedPrecondition, "NODE_ALIVE",
			"server %s on host %s is alive, it was heard %s ago: stop it first, it gives back what it has at work", id, all[i].Host, all[i].Silent.Round(time.Second))
	}
	if _, err := s.Disown(ctx, "", id, time.Now()); err != nil {
		return cli.Node{}, err
	}
	return all[i], shared.Leave(ctx, id)
}

// openNodes opens a shared database as it is.
func openNodes(ctx context.Context, dir string) (store.Store, store.Shared, error) {
	driver := standard.Store(os.Getenv)
	if driver.Files != nil {
		return nil, nil, fault.New(fault.FailedPrecondition, "STORE_NOT_SHARED",
			"the database of a data folder has one server: this is for servers that share the database of CADRE_DATABASE_URL, which is not set")
	}
	o := standard.StoreOptions{DataDir: dir, Env: os.Getenv}
	switch found, err := driver.Inspect(ctx, o); {
	case err != nil:
		return nil, nil, err
	case len(found.Pending) > 0:
		return nil, nil, schemaPending(found)
	}
	s, err := driver.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return s, s.(store.Shared), nil
}

// schemaPending is the fault for a database that a command would have to change first.
func schemaPending(found store.Inspection) error {
	return fault.New(fault.FailedPrecondition, "SCHEMA_PENDING",
		"the database has the schema v%d and this cadre works with v%d: use the cadre that made it, or bring it up to date with `cadre migrate up`, as the next `cadre up` does", found.Schema, found.Release)
}

// listNodes joins the servers with their turns. A turn may be of one that nobody knows any
// more: it is listed too.
func listNodes(ctx context.Context, s store.Store, shared store.Shared) ([]cli.Node, error) {
	known, err := shared.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	live, err := s.LiveAttempts(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]cli.Node, 0, len(known))
	for _, n := range known {
		all = append(all, cli.Node{ID: n.ID, Host: n.Host, Engine: n.Engine, Alive: n.Alive(), Silent: n.Silent, Turns: []string{}})
	}
	for _, a := range live {
		i := slices.IndexFunc(all, func(n cli.Node) bool { return n.ID == a.Node })
		if i < 0 {
			i, all = len(all), append(all, cli.Node{ID: a.Node, Turns: []string{}})
		}
		all[i].Turns = append(all[i].Turns, a.Execution)
	}
	slices.SortFunc(all, func(a, b cli.Node) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}
