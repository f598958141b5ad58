package search

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Bounds of one transaction of the indexer, which others wait for.
const (
	batchRows  = 64
	bulkRows   = 128
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
		level, most = 1, bulkRows
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

// load makes the documents of the first rows, as many as one transaction writes.
func (i *Indexer) load(ctx context.Context, rows []dirty) (n int, err error) {
	size := 0
	for n < len(rows) && size < batchBytes {
		if err := i.loadOne(ctx, &rows[n]); err != nil {
			return n, err
		}
		size += rows[n].size()
		n++
	}
	return n, nil
}

func (i *Indexer) loadOne(ctx context.Context, d *dirty) error {
	known, ok := i.known.kinds[d.kind]
	d.found = false
	if !ok {
		return nil
	}
	q := i.read(ctx)
	var data []byte
	err := q.Row("SELECT data FROM resources WHERE kind = ? AND id = ?", d.kind, d.id).Scan(&data)
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	var turn Turn
	if known.Turn {
		if turn, err = readTurn(q, d.id); err != nil {
			return err
		}
	}
	if d.doc, err = known.document(d.kind, data, turn); err != nil || d.doc.ID != d.id {
		i.log.WarnContext(ctx, "resource cannot be searched: its bytes cannot be read", "kind", d.kind, "id", d.id)
		return nil
	}
	d.found = true
	return nil
}

// write puts loaded rows into the index, and takes their marks away. It answers those
// that changed since they were read; what another indexer did meanwhile is done.
func (i *Indexer) write(ctx context.Context, rows []dirty) (again []dirty, err error) {
	slices.SortFunc(rows, byKey) // the order in which all lock
	err = i.db.Write(ctx, "search_index", "", func(tx sqldb.Tx) error {
		again = nil
		st, err := lockState(tx, "")
		if err != nil {
			return err
		}
		var mine []dirty
		for _, d := range rows {
			n, err := tx.Affect("DELETE FROM search_dirty WHERE kind = ? AND id = ? AND ticket = ?", d.kind, d.id, d.ticket)
			switch {
			case err != nil:
			case n > 0:
				mine = append(mine, d)
			default:
				again, err = changedRow(tx, d, again)
			}
			if err != nil {
				return err
			}
		}
		return i.put(tx, st, mine)
	})
	return again, err
}

// changedRow adds a row with its new ticket, when it is still dirty.
func changedRow(tx sqldb.Tx, d dirty, to []dirty) ([]dirty, error) {
	err := tx.Row("SELECT ticket FROM search_dirty WHERE kind = ? AND id = ?", d.kind, d.id).Scan(&d.ticket)
	if errors.Is(err, sqldb.ErrNoRows) {
		return to, nil
	}
	d.bulk = false // who changed it waits for it
	return append(to, d), err
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

// readTurn reads what was said in a turn: its input, and the newest words of the model.
func readTurn(q sqldb.Querier, execution string) (Turn, error) {
	var session string
	var input []byte
	err := q.Row("SELECT session, input FROM executions WHERE id = ?", execution).Scan(&session, &input)
	if errors.Is(err, sqldb.ErrNoRows) {
		return Turn{}, nil
	}
	if err != nil {
		return Turn{}, err
	}
	item := &messagev1.Item{}
	if err := proto.Unmarshal(input, item); err != nil {
		return Turn{}, nil
	}
	turn := Turn{Input: item.GetUser().GetText()}
	err = q.Rows(func(r sqldb.Scanner) error {
		var data []byte
		if err := r.Scan(&data); err != nil {
			return err
		}
		item := &messagev1.Item{}
		if proto.Unmarshal(data, item) != nil {
			return nil
		}
		for _, part := range item.GetAssistant().GetParts() {
			turn.Answer += part.GetText()
		}
		if turn.Answer != "" {
			return errEnough
		}
		return nil
	}, "SELECT item FROM history WHERE session = ? AND execution = ? ORDER BY position DESC", session, execution)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return turn, err
}

var errEnough = errors.New("the answer was found")
