package search

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cadre-dev/cadre/internal/sqldb"
)

// A rebuild fills the slot that does not answer. It marks every resource of the
// searchable kinds as dirty, in bulk, and what marks them dirty otherwise goes on: each
// row is indexed under its one mark, so that no older state replaces a newer one.
// The slot answers once no mark of the rebuild is left.

// clearRows bounds a step that empties a slot.
const clearRows = 500

// rebuild is how far this indexer is with one. Only the indexer's loop touches it.
type rebuild struct {
	due    time.Time // when to look again; zero for never
	idle   bool      // nothing is to be done, as far as is known
	active bool      // this indexer fills the slot
	kinds  []string  // still to be marked
	after  string    // the last id of kinds[0] that was marked
	began  time.Time
	clear  bool // the slot that does not answer has to be emptied

	finished bool // the filled slot is in order
}

// step does a little of what is to be done and says whether there is more right now.
func (r *rebuild) step(ctx context.Context, i *Indexer) (busy bool, err error) {
	now := i.now()
	switch {
	case r.idle, !r.due.IsZero() && now.Before(r.due):
		return false, nil
	case r.active:
		return r.fill(ctx, i)
	case r.clear:
		return r.empty(ctx, i)
	}
	st, _, err := readState(i.read(ctx))
	if err != nil {
		r.due = now.Add(i.opt.Poll)
		return false, err
	}
	if st.building != 0 && st.holder != i.me && now.Before(st.expires) { // another one fills it
		r.due = now.Add(min(st.expires.Sub(now), i.opt.Poll))
		return false, nil
	}
	r.due = time.Time{}
	if st.extractors == i.known.Digest() && st.building == 0 {
		return r.leftOver(ctx, i, st)
	}
	return r.begin(ctx, i)
}

// leftOver looks whether an earlier index is still to be removed.
func (r *rebuild) leftOver(ctx context.Context, i *Indexer, st state) (bool, error) {
	select {
	case <-i.filled:
	default:
		close(i.filled)
	}
	empty, err := i.index.Empty(i.read(ctx), st.other())
	r.clear, r.idle = err == nil && !empty, err == nil && empty
	return r.clear, err
}

// begin takes the lease, unless somebody else does at the same time.
func (r *rebuild) begin(ctx context.Context, i *Indexer) (bool, error) {
	mine := false
	err := i.db.Write(ctx, "search_rebuild", "", func(tx sqldb.Tx) error {
		st, err := lockState(tx, i.db.Dialect().ForUpdate)
		mine = err == nil && (st.building == 0 || st.holder == i.me || !i.now().Before(st.expires))
		if !mine {
			return err
		}
		if st.extractors == i.known.Digest() { // what was begun is not needed any more
			st.building, st.holder, st.expires = 0, "", time.Time{}
		} else {
			st.building, st.holder, st.expires = st.current+1, i.me, i.now().Add(i.opt.Lease)
		}
		if err := tx.Exec("DELETE FROM search_dirty WHERE bulk = 1"); err != nil {
			return err
		}
		mine = st.building != 0
		return st.write(tx)
	})
	if err == nil && mine {
		*r = rebuild{active: true, clear: true, kinds: i.known.Kinds(), began: i.now()}
		i.log.InfoContext(ctx, "search index is filled anew", "kinds", len(r.kinds))
	}
	return err == nil, err
}

// fill empties the slot, marks the next resources, indexes what is marked, puts the slot in
// order, and at last lets it answer.
func (r *rebuild) fill(ctx context.Context, i *Indexer) (bool, error) {
	switch {
	case r.clear:
		return true, r.held(ctx, i, func(tx sqldb.Tx, st state) (err error) {
			r.clear, err = i.index.Clear(tx, SlotOf(st.building), clearRows)
			return err
		})
	case len(r.kinds) > 0:
		if err := r.held(ctx, i, func(tx sqldb.Tx, _ state) error { return r.feed(tx, i) }); err != nil {
			return true, err
		}
	}
	if !r.active { // the lease was lost
		return true, nil
	}
	left, err := i.bulk(ctx)
	if err != nil || left || len(r.kinds) > 0 {
		return true, err
	}
	if !r.finished {
		return true, r.held(ctx, i, func(tx sqldb.Tx, st state) error {
			more, err := i.index.Finish(tx, SlotOf(st.building))
			r.finished = !more
			return err
		})
	}
	return true, r.swap(ctx, i)
}

// held runs a part of the rebuild while the lease is this indexer's, and renews it.
// Without it the rebuild is somebody else's.
func (r *rebuild) held(ctx context.Context, i *Indexer, fn func(sqldb.Tx, state) error) error {
	before := *r
	err := i.db.Write(ctx, "search_rebuild", "", func(tx sqldb.Tx) error {
		*r = before
		st, err := lockState(tx, i.db.Dialect().ForUpdate)
		if err != nil {
			return err
		}
		if st.building == 0 || st.holder != i.me {
			*r = rebuild{}
			return nil
		}
		st.expires = i.now().Add(i.opt.Lease)
		if err := st.write(tx); err != nil {
			return err
		}
		return fn(tx, st)
	})
	if err != nil {
		*r = before
	}
	return err
}

// feed marks the next resources. Those that are dirty anyway are indexed anyway.
func (r *rebuild) feed(tx sqldb.Tx, i *Indexer) error {
	rows, _ := i.index.Bulk()
	var last string
	err := tx.Row("SELECT COALESCE(max(id), '') FROM (SELECT id FROM resources WHERE kind = ? AND id > ? ORDER BY id LIMIT ?) AS next",
		r.kinds[0], r.after, rows).Scan(&last)
	if err != nil {
		return err
	}
	if last == "" {
		r.kinds, r.after = r.kinds[1:], ""
		return nil
	}
	err = tx.Exec(`INSERT INTO search_dirty (kind, id, ticket, bulk)
		SELECT kind, id, CAST(? AS BIGINT), 1 FROM resources WHERE kind = ? AND id > ? AND id <= ? ON CONFLICT (kind, id) DO NOTHING`,
		rand.Int64(), r.kinds[0], r.after, last)
	r.after = last
	return err
}

// bulk indexes one batch of what the rebuild marked, and says whether there was one.
func (i *Indexer) bulk(ctx context.Context) (bool, error) {
	rows, err := i.waiting(ctx, true, "", "")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	return true, i.bring(ctx, rows)
}

// swap lets the filled slot answer, in one transaction.
func (r *rebuild) swap(ctx context.Context, i *Indexer) error {
	done := false
	err := r.held(ctx, i, func(tx sqldb.Tx, st state) error {
		done = false
		var left bool
		if err := tx.Row("SELECT EXISTS (SELECT 1 FROM search_dirty WHERE bulk = 1)").Scan(&left); err != nil || left {
			return err
		}
		done = true
		return state{current: st.building, extractors: i.known.Digest()}.write(tx)
	})
	if err == nil && done {
		i.log.InfoContext(ctx, "search index was filled anew", "after_ms", i.now().Sub(r.began).Milliseconds())
		*r = rebuild{clear: true, due: i.now().Add(i.opt.Linger)}
		close(i.filled)
	}
	return err
}

// empty removes the index that was replaced, a little at a time.
func (r *rebuild) empty(ctx context.Context, i *Indexer) (bool, error) {
	more, taken := true, false
	err := i.db.Write(ctx, "search_rebuild", "", func(tx sqldb.Tx) error {
		st, err := lockState(tx, i.db.Dialect().ForUpdate)
		if taken = st.building != 0; err != nil || taken {
			return err
		}
		more, err = i.index.Clear(tx, st.other(), clearRows)
		return err
	})
	switch {
	case err != nil:
		return false, err
	case taken: // somebody fills it
		*r = rebuild{due: i.now().Add(i.opt.Poll)}
		return false, nil
	case !more:
		*r = rebuild{}
	}
	return true, nil
}
