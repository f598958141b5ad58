package postings

import (
	"slices"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// numbered is a document with its number.
type numbered struct {
	search.Document
	docid  int64
	digest string
}

// writing is one call of Write.
type writing struct {
	tx    sqldb.Tx
	slot  search.Slot
	old   map[search.Key]numbered
	sums  relational.Counts
	lists changes
}

// Write stores documents, each in the place of one with the same key, and takes others
// out. Statements are few and each is about all documents.
func (Index) Write(tx sqldb.Tx, slot search.Slot, put []search.Document, gone []search.Key) error {
	if err := lock(tx, slot); err != nil {
		return err
	}
	w := &writing{tx: tx, slot: slot, sums: relational.Counts{}, lists: changes{}}
	if err := w.load(put, gone); err != nil {
		return err
	}
	fresh, drop := w.differ(put, gone)
	if err := w.delete(drop); err != nil {
		return err
	}
	if err := w.number(fresh); err != nil {
		return err
	}
	if err := w.lists.write(tx, slot); err != nil {
		return err
	}
	return w.sums.Write(tx, slot)
}

// load reads what is there of the documents.
func (w *writing) load(put []search.Document, gone []search.Key) error {
	keys := slices.Clone(gone)
	for _, d := range put {
		keys = append(keys, search.Key{Kind: d.Kind, ID: d.ID})
	}
	kinds, ids := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		kinds[i], ids[i] = k.Kind, k.ID
	}
	found, err := readWhole(w.tx, w.slot, "JOIN unnest(CAST(? AS TEXT[]), CAST(? AS TEXT[])) AS k (kind, id) ON d.kind = k.kind AND d.id = k.id", kinds, ids)
	w.old = make(map[search.Key]numbered, len(found))
	for _, d := range found {
		w.old[search.Key{Kind: d.Kind, ID: d.ID}] = d
	}
	return err
}

// differ notes what changes: the documents to insert, those that keep their number with it,
// and the numbers of the rows that go.
func (w *writing) differ(put []search.Document, gone []search.Key) (fresh []*numbered, drop []int64) {
	at := map[search.Key]*numbered{}
	for _, d := range put {
		key := search.Key{Kind: d.Kind, ID: d.ID}
		next := &numbered{Document: d, digest: d.Digest()}
		if earlier := at[key]; earlier != nil { // twice in one call: the later one counts
			next.docid = earlier.docid
			*earlier = *next
			continue
		}
		was, there := w.old[key]
		if there && was.digest == next.digest {
			continue
		}
		if there {
			drop = append(drop, was.docid)
			if was.CreatedAt.Equal(d.CreatedAt) {
				next.docid = was.docid
			}
		}
		at[key] = next
		fresh = append(fresh, next)
	}
	for _, key := range gone {
		if was, there := w.old[key]; there && at[key] == nil {
			drop = append(drop, was.docid)
		}
	}
	return fresh, drop
}

// delete takes rows out, and notes what leaves the lists.
func (w *writing) delete(drop []int64) error {
	if len(drop) == 0 {
		return nil
	}
	slices.Sort(drop)
	drop = slices.Compact(drop)
	for _, was := range w.old {
		if _, found := slices.BinarySearch(drop, was.docid); found {
			w.lists.note(listsOf(was.Document), was.docid, -1)
			w.sums[relational.Counted{Org: was.Org, Kind: was.Kind, Public: was.Public()}]--
		}
	}
	for _, name := range []string{textsOf(w.slot), documentsOf(w.slot)} {
		if err := w.tx.Exec("DELETE FROM "+name+" WHERE docid = ANY(CAST(? AS BIGINT[]))", drop); err != nil {
			return err
		}
	}
	return nil
}

// number gives documents their numbers and inserts them, until each has one that no other has.
func (w *writing) number(fresh []*numbered) error {
	taken := map[int64]bool{}
	for _, d := range fresh {
		taken[d.docid] = true
	}
	waiting := fresh
	for try := 0; len(waiting) > 0; try++ {
		var now, later []*numbered
		for _, d := range waiting {
			if d.docid == 0 {
				n := relational.Number(d.Document, try)
				if taken[n] {
					later = append(later, d)
					continue
				}
				d.docid, taken[n] = n, true
			}
			now = append(now, d)
		}
		done, err := w.insert(now)
		if err != nil {
			return err
		}
		for _, d := range now {
			if !done[d.docid] {
				d.docid = 0
				later = append(later, d)
			}
		}
		waiting = later
	}
	for _, d := range fresh {
		w.lists.note(listsOf(d.Document), d.docid, 1)
		w.sums[relational.Counted{Org: d.Org, Kind: d.Kind, Public: d.Public()}]++
	}
	return nil
}
