package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// Join makes this server known.
func (d *database) Join(ctx context.Context, n store.Node) error {
	d.joined.Store(&n)
	return d.Write(ctx, "join", "", func(t sqldb.Tx) error {
		return t.Exec(`INSERT INTO nodes (id, boot, host, engine, seen_at) VALUES (?,?,?,'',clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET boot = excluded.boot, host = excluded.host, engine = '', seen_at = excluded.seen_at`, n.ID, n.Boot, n.Host)
	})
}

// Beat says that this server lives. Whose silence is too long is told by the
// database's clock alone.
func (d *database) Beat(ctx context.Context, id string) (others []store.Node, rejoined bool, err error) {
	self := d.joined.Load()
	if self == nil || self.ID != id {
		return nil, false, fault.New(fault.FailedPrecondition, "NODE_NOT_JOINED", "server %s did not join", id)
	}
	if err := d.Write(ctx, "beat", "", func(t sqldb.Tx) error {
		rejoined = false
		n, err := t.Affect("UPDATE nodes SET seen_at = clock_timestamp() WHERE id = ? AND boot = ?", id, self.Boot)
		if err != nil || n > 0 {
			return err
		}
		n, err = t.Affect("INSERT INTO nodes (id, boot, host, engine, seen_at) VALUES (?,?,?,'',clock_timestamp()) ON CONFLICT (id) DO NOTHING", id, self.Boot, self.Host)
		if rejoined = n > 0; err == nil && !rejoined {
			return store.ErrNodeTaken
		}
		return err
	}); err != nil {
		return nil, false, err
	}
	others, err = living(d.Read(ctx), id)
	return others, rejoined, err
}

// Nodes answers all servers.
func (d *database) Nodes(ctx context.Context) ([]store.Node, error) { return nodes(d.Read(ctx)) }

func nodes(q sqldb.Querier) ([]store.Node, error) {
	var all []store.Node
	err := q.Rows(func(r sqldb.Scanner) error {
		var n store.Node
		var silent float64
		err := r.Scan(&n.ID, &n.Boot, &n.Host, &n.Engine, &n.Seen, &silent)
		n.Silent = time.Duration(silent * float64(time.Second))
		all = append(all, n)
		return err
	}, "SELECT id, boot, host, engine, seen_at, extract(epoch FROM clock_timestamp() - seen_at)::float8 FROM nodes ORDER BY id")
	return all, err
}

// living are the others that were heard lately.
func living(q sqldb.Querier, but string) ([]store.Node, error) {
	all, err := nodes(q)
	return slices.DeleteFunc(all, func(n store.Node) bool { return n.ID == but || !n.Alive() }), err
}

// BindEngine makes an engine the one of this database.
func (d *database) BindEngine(ctx context.Context, id, engine string) (before string, err error) {
	err = d.Write(ctx, "bind_engine", "", func(t sqldb.Tx) error {
		if err := t.Exec(d.Dialect().Lock, "engine"); err != nil {
			return err
		}
		before = ""
		if err := t.Row("SELECT value FROM boot_state WHERE key = 'engine_id'").Scan(&before); err != nil && !errors.Is(err, sqldb.ErrNoRows) {
			return err
		}
		if before != "" && before != engine {
			if err := otherEngine(t, id, before, engine); err != nil {
				return err
			}
		}
		if err := t.Exec("INSERT INTO boot_state (key, value) VALUES ('engine_id', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", engine); err != nil {
			return err
		}
		return t.Exec("UPDATE nodes SET engine = ?, seen_at = clock_timestamp() WHERE id = ?", engine, id)
	})
	return before, err
}

// otherEngine refuses when a living server runs the sessions on the engine that is bound.
func otherEngine(t sqldb.Tx, id, bound, engine string) error {
	others, err := living(t, id)
	if err != nil {
		return err
	}
	for _, n := range others {
		if n.Engine == bound {
			return store.ErrOtherEngine.Saying(
				"this server runs no sessions: its engine is %s, and server %s on host %s runs the sessions of this database on %s. Give both the same Temporal (CADRE_TEMPORAL_ADDRESS), or stop that one",
				engine, n.ID, n.Host, bound).With("node", n.ID).With("host", n.Host)
		}
	}
	return nil
}

// Leave takes a server off.
func (d *database) Leave(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTime)
	defer cancel()
	return d.Write(ctx, "leave", "", func(t sqldb.Tx) error {
		return t.Exec("DELETE FROM nodes WHERE id = ?", id)
	})
}
