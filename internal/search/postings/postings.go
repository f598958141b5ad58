// Package postings finds documents in PostgreSQL by lists of its own: for each word, in
// all organizations, in one and among what is public, the numbers of the documents that
// have it. A list lies in blocks of at most blockMost numbers. A search walks the lists from
// the newest document down, some blocks at a time, and stops when it has enough; where one
// list is short the others are looked into at its numbers alone. Time therefore depends on
// how many documents are ranked and hardly on how many there are.
//
// Words that begin like the last one of a query are found among the lists. Where more than
// mostLists begin so, candidates are read and looked at instead, mostRead of them at most;
// Result.More is set when that was not enough.
//
// One transaction at a time writes into a slot: it holds the slot's advisory lock until its
// end, so that no two of them wait for one another's blocks.
package postings

import (
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Index is the driver.
type Index struct{}

var _ search.Index = Index{}

// New makes it. The tables are the store's migrations'.
func New() search.Index { return Index{} }

// names of the tables of a slot.
func documentsOf(slot search.Slot) string { return "search_documents_" + string(slot) }
func textsOf(slot search.Slot) string     { return "search_texts_" + string(slot) }
func postingsOf(slot search.Slot) string  { return "search_postings_" + string(slot) }

// lock waits until no other transaction writes into the slot.
func lock(tx sqldb.Tx, slot search.Slot) error {
	return tx.Exec("SELECT pg_advisory_xact_lock(hashtextextended(?, 7239))", postingsOf(slot))
}

// Bulk is much at once: each block that several documents belong to is then written once.
func (Index) Bulk() (documents, bytes int) { return 512, 512 << 10 }

// Clear empties a slot at once.
func (Index) Clear(tx sqldb.Tx, slot search.Slot, _ int) (bool, error) {
	if err := lock(tx, slot); err != nil {
		return true, err
	}
	if err := tx.Exec("TRUNCATE " + documentsOf(slot) + ", " + textsOf(slot) + ", " + postingsOf(slot)); err != nil {
		return true, err
	}
	return false, tx.Exec("DELETE FROM search_counts WHERE slot = ?", string(slot))
}

// Empty tells whether a slot holds nothing.
func (Index) Empty(q sqldb.Querier, slot search.Slot) (bool, error) {
	return relational.Documents{}.Empty(q, slot)
}

// Finish counts rows, which is what PostgreSQL plans by.
func (Index) Finish(tx sqldb.Tx, slot search.Slot) (more bool, err error) {
	for _, name := range []string{documentsOf(slot), textsOf(slot), postingsOf(slot)} {
		if err := tx.Exec("ANALYZE " + name); err != nil {
			return false, err
		}
	}
	return false, nil
}
