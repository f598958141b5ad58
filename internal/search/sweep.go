package search

import (
	"cmp"
	"context"
	"slices"

	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Bounds of one transaction of the indexer, which others wait for.
const (
	batchRows  = 64
	batchBytes = 128 << 10
	// retries of a row that changes while it is indexed.
	retries = 3
)

// dirty is a resource that waits to be indexed.
type dirty struct {
	kind, id string
	ticket   int64
	bulk     bool
	found    bool // the resource exists and its kind is searchable
	doc      Document
}

func (d dirty) size() int { return len(d.doc.Text) + len(d.doc.Description) + 500 }

func byKey(a, b dirty) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id)) }

// sweep indexes every change that was committed before it began.
func (i *Indexer) sweep(ctx context.Context) error {
	var kind, id string
	for ctx.Err() == nil {
		rows, err := i.waiting(ctx, false, kind, id)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := i.bring(ctx, rows); err != nil {
			return err
		}
		last := rows[len(rows)-1]
		kind, id = last.kind, last.id
	}
	return ctx.Err()
}

// waiting reads what is dirty, behind a key.
func (i *Indexer) waiting(ctx context.Context, bulk bool, kind, id string) ([]dirty, error) {
	var all []dirty
	level, most := 0, batchRows
	if bulk {
		level = 1
		most, _ = i.index.Bulk()
	}
	err := i.read(ctx).Rows(func(r sqldb.Scanner) error {
		d := dirty{bulk: bulk}
		err := r.Scan(&d.kind, &d.id, &d.ticket)
		all = append(all, d)
		return err
	}, "SELECT kind, id, ticket FROM search_dirty WHERE bulk = ? AND (kind, id) > (?, ?) ORDER BY kind, id LIMIT ?", level, kind, id, most)
	return all, err
}

// bring indexes rows. One that changed meanwhile is read again.
func (i *Indexer) bring(ctx context.Context, rows []dirty) error {
	for range retries {
		if len(rows) == 0 {
			return nil
		}
		var changed []dirty
		for len(rows) > 0 {
			n, err := i.load(ctx, rows)
			if err != nil {
				return err
			}
			again, err := i.write(ctx, rows[:n])
			if err != nil {
				return err
			}
			changed, rows = append(changed, again...), rows[n:]
		}
		rows = changed
	}
	return nil
}

// write puts loaded rows into the index, and takes their marks away. It answers those
// that changed since they were read; what another indexer did meanwhile is done.
func (i *Indexer) write(ctx context.Context, rows []dirty) (again []dirty, err error) {
	slices.SortFunc(rows, byKey) // the order in which all lock
	err = i.db.Write(ctx, "search_index", "", func(tx sqldb.Tx) error {
		st, err := lockState(tx, "")
		if err != nil {
			return err
		}
		var mine []dirty
		if mine, again, err = i.take(tx, rows); err != nil {
			return err
		}
		return i.put(tx, st, mine)
	})
	return again, err
}

// take takes the marks of rows away. Those that changed since they were read come with
// their new tickets, and those without a mark in neither.
func (i *Indexer) take(tx sqldb.Tx, rows []dirty) (mine, changed []dirty, err error) {
	for kind, of := range byKind(rows) {
		tickets := make(map[string]int64, len(of))
		if err := tx.Rows(func(r sqldb.Scanner) error {
			var id string
			var ticket int64
			err := r.Scan(&id, &ticket)
			tickets[id] = ticket
			return err
		}, "SELECT id, ticket FROM search_dirty WHERE kind = ? AND id IN "+places(len(of))+" ORDER BY id"+i.db.Dialect().ForUpdate, ids(kind, of)...); err != nil {
			return nil, nil, err
		}
		var taken []dirty
		for _, d := range of {
			switch ticket, there := tickets[d.id]; {
			case there && ticket == d.ticket:
				taken = append(taken, d)
			case there:
				d.ticket, d.bulk = ticket, false // who changed it waits for it
				changed = append(changed, d)
			}
		}
		if len(taken) == 0 {
			continue
		}
		if err := tx.Exec("DELETE FROM search_dirty WHERE kind = ? AND id IN "+places(len(taken)), ids(kind, taken)...); err != nil {
			return nil, nil, err
		}
		mine = append(mine, taken...)
	}
	return mine, changed, nil
}

// put writes documents into the generations that they belong to.
func (i *Indexer) put(tx sqldb.Tx, st state, rows []dirty) error {
	if err := i.putInto(tx, SlotOf(st.current), slices.DeleteFunc(slices.Clone(rows), func(d dirty) bool { return d.bulk })); err != nil {
		return err
	}
	if st.building == 0 {
		return nil
	}
	return i.putInto(tx, SlotOf(st.building), rows)
}

func (i *Indexer) putInto(tx sqldb.Tx, slot Slot, rows []dirty) error {
	var put []Document
	var gone []Key
	for _, d := range rows {
		if d.found {
			put = append(put, d.doc)
		} else {
			gone = append(gone, Key{d.kind, d.id})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return i.index.Write(tx, slot, put, gone)
}
