package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
)

// maxBatch bounds how many jobs share one commit, so that the first of them
// does not wait for too long.
const maxBatch = 128

// writer owns the only connection that writes. Jobs that queue up while a
// commit reaches the disk share the next one.
type writer struct {
	jobs   chan *job
	done   chan struct{}
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	mark   *mark
	mu     sync.RWMutex // guards closed
	closed bool
	notify atomic.Pointer[func([]*eventv1.Event)]
	sick   atomic.Pointer[ill] // why commits failed lately; nil when none did
}

// job is one transaction of a caller.
type job struct {
	name string // for the places where tests end the process
	ctx  context.Context
	fn   func(*txn) error
	txn  *txn
	err  error
	end  chan struct{}
}

// deletesEvents says whether a transaction takes events out of the log.
func deletesEvents(name string) bool { return name == "delete_session" || name == "trim" }

func startWriter(ctx context.Context, db *sql.DB, m *mark) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{
		jobs: make(chan *job, 4*maxBatch), done: make(chan struct{}),
		conn: conn, stmts: map[string]*sql.Stmt{}, mark: m,
	}
	go w.loop()
	return w, nil
}

func (w *writer) observe(f func([]*eventv1.Event)) { w.notify.Store(&f) }

// do runs fn in a transaction and returns when it is on the disk. When fn
// returns an error, nothing of it is written. A context that ends before the
// job began cancels it; one that ends later does not, since the outcome would
// be unknown. name is what the method is called in failpoints.
func (w *writer) do(ctx context.Context, name string, fn func(*txn) error) error {
	j := &job{name: name, ctx: ctx, fn: fn, end: make(chan struct{})}
	w.mu.RLock()
	if w.closed {
		w.mu.RUnlock()
		return fault.New(fault.Unavailable, "STORE_CLOSED", "the store is closed").Retry()
	}
	w.jobs <- j
	w.mu.RUnlock()
	<-j.end
	return j.err
}

// stop refuses new jobs, finishes those queued and ends the loop.
func (w *writer) stop() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.jobs)
	}
	w.mu.Unlock()
	<-w.done
}

func (w *writer) loop() {
	defer close(w.done)
	defer w.release()
	batch := make([]*job, 0, maxBatch)
	for first := range w.jobs {
		batch = append(batch[:0], first)
		batch = w.gather(batch)
		w.commit(batch)
	}
}

// gather adds what is already queued. It does not wait: while one commit
// reaches the disk, the next batch fills by itself.
func (w *writer) gather(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j, ok := <-w.jobs:
			if !ok {
				return batch
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

func (w *writer) commit(batch []*job) {
	defer func() {
		for _, j := range batch {
			close(j.end)
		}
	}()
	defer w.feel(batch)
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		failAll(batch, err)
		return
	}
	for _, j := range batch {
		w.run(j, len(batch) > 1)
	}
	if len(batch) == 1 && batch[0].err != nil {
		_ = w.exec("ROLLBACK")
		return
	}
	events, changed := w.logged(batch)
	if changed {
		w.mark.write(min(w.mark.events, events)) // never beyond the database, whether this commits or not
	}
	hit(batch, "before")
	if err := w.exec("COMMIT"); err != nil {
		_ = w.exec("ROLLBACK")
		failAll(batch, err)
		return
	}
	hit(batch, "after")
	if changed {
		w.mark.write(events)
	}
	w.publish(batch)
}

// logged reads how far the log comes with this commit, when it adds events or takes
// some away.
func (w *writer) logged(batch []*job) (events int64, changed bool) {
	for _, j := range batch {
		if j.err == nil {
			changed = changed || deletesEvents(j.name) || j.txn != nil && len(j.txn.events) > 0
		}
	}
	if !changed {
		return 0, false
	}
	t := &txn{w: w}
	if err := t.Row("SELECT COALESCE(max(rowid), 0) FROM events").Scan(&events); err != nil {
		return 0, false
	}
	return events, true
}

// ill is a failure to write and when it happened.
type ill struct {
	err error
	at  time.Time
}

// ailing says whether a write failed a moment ago: on a full disk small writes may
// succeed between large ones that fail.
func (w *writer) ailing() bool {
	i := w.sick.Load()
	return i != nil && time.Since(i.at) < convalescence
}

// convalescence is how long after a failure the store is not called well again.
const convalescence = 15 * time.Second

// feel notes whether the store can write, for Health.
func (w *writer) feel(batch []*job) {
	for _, j := range batch {
		switch {
		case fault.ReasonOf(j.err) == "STORE_WRITE_FAILED":
			w.sick.Store(&ill{j.err, time.Now()})
			return
		case j.err == nil && j.name != "health" && !w.ailing():
			w.sick.Store(nil)
		}
	}
}

// hit passes the failpoints of a commit: one for each job that it holds.
func hit(batch []*job, side string) {
	if !failpoint.On {
		return
	}
	for _, j := range batch {
		if j.err == nil {
			failpoint.Hit("commit." + j.name + "." + side)
		}
	}
}

// run executes one job; beside others it has a savepoint of its own.
func (w *writer) run(j *job, shared bool) {
	if j.err = context.Cause(j.ctx); j.err != nil {
		return
	}
	if shared {
		if j.err = w.exec("SAVEPOINT job"); j.err != nil {
			return
		}
	}
	j.txn = &txn{w: w}
	j.err = guarded(j)
	if !shared {
		return
	}
	if j.err != nil {
		if err := w.exec("ROLLBACK TO job"); err != nil {
			j.err = errors.Join(j.err, err)
		}
	}
	if err := w.exec("RELEASE job"); err != nil && j.err == nil {
		j.err = writeFault(err)
	}
}

func guarded(j *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "INTERNAL", "internal error").Because(fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack()))
		}
	}()
	return j.fn(j.txn)
}

func (w *writer) publish(batch []*job) {
	notify := w.notify.Load()
	if notify == nil {
		return
	}
	for _, j := range batch {
		if j.err == nil && j.txn != nil && len(j.txn.events) > 0 {
			failpoint.Hit("publish.before")
			publishSafely(*notify, j.txn.events)
			failpoint.Hit("publish.after")
		}
	}
}

// publishSafely keeps a faulty observer from changing the outcome of a commit.
func publishSafely(notify func([]*eventv1.Event), events []*eventv1.Event) {
	defer func() { _ = recover() }()
	notify(events)
}

func failAll(batch []*job, err error) {
	for _, j := range batch {
		if j.err == nil {
			j.err = writeFault(err)
		}
	}
}

func (w *writer) exec(q string) error {
	stmt, err := w.prepare(q)
	if err != nil {
		return err
	}
	_, err = stmt.Exec()
	return err
}

func (w *writer) prepare(q string) (*sql.Stmt, error) {
	if s := w.stmts[q]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(context.Background(), q)
	if err != nil {
		return nil, err
	}
	w.stmts[q] = s
	return s, nil
}

func (w *writer) release() {
	for _, s := range w.stmts {
		_ = s.Close()
	}
	_ = w.conn.Close()
}
