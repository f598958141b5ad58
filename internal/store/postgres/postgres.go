// Package postgres keeps everything in a PostgreSQL database (13 or newer, UTF-8)
// that several servers may share.
//
// It promises what package store asks for. Transactions are READ COMMITTED and lock
// the rows that they change. A commit whose answer is lost with its connection is
// looked up by a token that its transaction wrote, so that its outcome is known.
// Nothing outlives a transaction on a connection, so that a pooler in transaction mode
// may stand in between; only listening for hints wants a connection of its own, by the
// direct address, and is replaced by a poll where there is none.
package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/relational"
)

// Options of a Store.
type Options struct {
	URL    string // of the database, as libpq reads it
	Direct string // an address of the same database that no pooler stands before. Default: URL
	Log    *slog.Logger
}

// Store is the driver. Make it with Open.
type Store struct {
	*relational.Store
	*database
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Shared = (*Store)(nil)
)

// database is the pool of connections with what this process knows of the others.
type database struct {
	pool   *pgxpool.Pool
	log    *slog.Logger
	texts  texts
	keys   keyed
	slots  slots
	joined atomic.Pointer[store.Node] // who this server is among others
	hints  *hints
	notify atomic.Pointer[func([]*eventv1.Event)]
	sick   atomic.Pointer[error] // why the newest write failed; nil when it did not
	id     atomic.Value          // string: which database this is; nothing before it was read

	mu     sync.RWMutex // held by calls for reading, by Close for writing
	closed bool
}

// Open connects to a database, brings its schema up to date and begins to listen for
// what other servers commit. What is wrong with the address, the database or the
// rights is told in one sentence (STORE_OPEN_FAILED, STORE_URL_INVALID); a database
// of a newer release is refused with store.ErrNewerSchema.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	db := &database{log: o.Log}
	pool, err := connect(ctx, o.URL, db.same)
	if err != nil {
		return nil, err
	}
	db.pool = pool
	if err := errors.Join(usable(ctx, pool), migrate(ctx, pool)); err != nil {
		pool.Close()
		return nil, err
	}
	if err := db.identify(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	if _, err := pool.Exec(ctx, sweep); err != nil {
		pool.Close()
		return nil, writeFault(err)
	}
	if db.hints, err = startHints(db, o); err != nil {
		pool.Close()
		return nil, err
	}
	return &Store{relational.New(db), db}, nil
}

// Dialect is how PostgreSQL spells things.
func (*database) Dialect() sqldb.Dialect {
	return sqldb.Dialect{
		Name: "postgres", ForUpdate: " FOR UPDATE", Position: "strpos",
		Lock: "SELECT pg_advisory_xact_lock(hashtextextended(?, 7239))",
	}
}

// Capabilities says that servers share the database. Its own tools make backups.
func (*Store) Capabilities() store.Capabilities { return store.Capabilities{Shared: true} }

// OnCommit names the observer of events that this process commits.
func (d *database) OnCommit(f func([]*eventv1.Event)) { d.notify.Store(&f) }

// Close waits for calls in progress and closes the connections.
func (d *database) Close() error {
	d.mu.Lock()
	was := d.closed
	d.closed = true
	d.mu.Unlock()
	if was {
		return nil
	}
	d.hints.stop()
	d.pool.Close()
	return nil
}

// enter counts a call in, unless the store is closed.
func (d *database) enter() (leave func(), err error) {
	d.mu.RLock()
	if d.closed {
		d.mu.RUnlock()
		return nil, closed()
	}
	return d.mu.RUnlock, nil
}
