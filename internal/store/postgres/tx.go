package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Bounds of a write.
const (
	mostCollisions = 20               // times that a transaction is made again because it met another one
	patience       = 10 * time.Second // how long a lost connection is made up for
	firstPause     = 5 * time.Millisecond
	longestPause   = 500 * time.Millisecond
)

// Write runs fn in a transaction. It is made again when it met another one, or when
// its connection was lost before the commit; a context that ends after the beginning
// does not end it, since the outcome would be unknown.
func (d *database) Write(ctx context.Context, name, key string, fn func(sqldb.Tx) error) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	defer d.keys.lock(key)()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	work := context.WithoutCancel(ctx)
	began, collisions := time.Now(), 0
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err = d.write(work, name, fn)
		switch {
		case collided(err) && collisions < mostCollisions:
			if collisions++; state(err) == "23505" {
				collisions += mostCollisions / 4 // a row that is in the way for good is no collision
			}
			pause = min(pause, 20*firstPause)
		case cutOff(err) && time.Since(began) < patience && ctx.Err() == nil:
		default:
			d.feel(name, err)
			return writeFault(err)
		}
		rest(work, pause/2+rand.N(pause))
	}
}

// rest waits, but not beyond the end of ctx.
func rest(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// write is one try.
func (d *database) write(ctx context.Context, name string, fn func(sqldb.Tx) error) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errSlow)
	defer cancel()
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	p := d.slots.take()
	defer func() { d.slots.free(p, err) }()
	if err := d.begin(ctx, conn.Conn(), p); err != nil {
		return err
	}
	t := &txn{ctx: ctx, conn: conn.Conn(), db: d}
	if err := guarded(t, fn); err != nil {
		_, _ = conn.Exec(ctx, "ROLLBACK", pgx.QueryExecModeSimpleProtocol)
		return err
	}
	failpoint.Hit("commit." + name + ".before")
	if err := d.commit(ctx, conn, p); err != nil {
		return err
	}
	failpoint.Hit("commit." + name + ".after")
	d.publish(t.events)
	return nil
}

var errSlow = fault.New(fault.Unavailable, "STORE_SLOW", "the store did not answer within a minute").Retry()

// guarded runs fn; its panic is an error.
func guarded(t *txn, fn func(sqldb.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "INTERNAL", "internal error").Because(fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack()))
		}
	}()
	return fn(t)
}

// feel notes whether the store can write, for Health.
func (d *database) feel(_ string, err error) {
	switch {
	case err == nil:
		d.sick.Store(nil)
	case state(err) != "" || cutOff(err) || errors.Is(err, errReplaced):
		told := writeFault(err)
		d.sick.Store(&told)
	}
}

// publish tells the observer, and other servers soon.
func (d *database) publish(events []*eventv1.Event) {
	if len(events) == 0 {
		return
	}
	d.hints.note(events)
	if notify := d.notify.Load(); notify != nil {
		failpoint.Hit("publish.before")
		publishSafely(*notify, events)
		failpoint.Hit("publish.after")
	}
}

// publishSafely keeps a faulty observer from changing the outcome of a commit.
func publishSafely(notify func([]*eventv1.Event), events []*eventv1.Event) {
	defer func() { _ = recover() }()
	notify(events)
}

// txn is the inside of one write transaction.
type txn struct {
	ctx    context.Context
	conn   *pgx.Conn
	db     *database
	events []*eventv1.Event
}

var _ sqldb.Tx = (*txn)(nil)

// Exec runs a statement.
func (t *txn) Exec(q string, args ...any) error {
	_, err := t.Affect(q, args...)
	return err
}

// Affect runs a statement and counts the rows that it changed.
func (t *txn) Affect(q string, args ...any) (int64, error) {
	tag, err := t.conn.Exec(t.ctx, t.db.texts.of(q), args...)
	return tag.RowsAffected(), writeFault(err)
}

// Row reads one row.
func (t *txn) Row(q string, args ...any) sqldb.Scanner {
	return row{t.conn.QueryRow(t.ctx, t.db.texts.of(q), args...)}
}

// Rows reads many rows.
func (t *txn) Rows(scan func(sqldb.Scanner) error, q string, args ...any) error {
	rows, err := t.conn.Query(t.ctx, t.db.texts.of(q), args...)
	if err != nil {
		return readFault(err)
	}
	return each(rows, scan)
}

// Emit has the events told to the observer after the commit.
func (t *txn) Emit(events []*eventv1.Event) { t.events = append(t.events, events...) }

// row tells what goes wrong with a row as a fault.
type row struct{ pgx.Row }

func (r row) Scan(dest ...any) error { return readFault(r.Row.Scan(dest...)) }

// each scans all rows.
func each(rows pgx.Rows, scan func(sqldb.Scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return readFault(err)
		}
	}
	return readFault(rows.Err())
}
