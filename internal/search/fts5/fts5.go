// Package fts5 finds documents with SQLite's FTS5: two tables of words per slot, one of
// names and labels and one of everything. What is narrowed by is a word as well, so
// that a common word in a small organization is found without reading all of it.
//
// The tables keep no texts and no positions. Beginnings of three letters have an index of
// their own; for longer ones the words that begin so are looked up first, since merging
// them inside FTS5 costs time for every document that has one.
package fts5

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Bounds of a beginning of a word.
const (
	indexedPrefix = 3  // bytes, of which the tables keep an index
	mostWords     = 96 // words that a longer beginning is replaced by
)

// Index is the driver.
type Index struct{ relational.Documents }

var _ search.Index = Index{}

// New makes it. The tables are the store's migrations'.
func New() search.Index { return Index{relational.Documents{Words: tables{}}} }

// tables keep the words.
type tables struct{}

// Insert keeps the words of a document.
func (tables) Insert(tx sqldb.Tx, slot search.Slot, docid int64, w relational.Kept) error {
	for name, words := range map[string][]string{"titles": w.Title, "terms": w.All} {
		if err := tx.Exec("INSERT INTO search_"+name+"_"+string(slot)+" (rowid, terms) VALUES (?, ?)",
			docid, strings.Join(slices.Concat(w.Scope, words), " ")); err != nil {
			return err
		}
	}
	list, err := json.Marshal(long(w.All))
	if err != nil {
		return err
	}
	return tx.Exec("INSERT INTO search_words_"+string(slot)+" (word) SELECT value FROM json_each(?) WHERE true ON CONFLICT DO NOTHING", string(list))
}

// long are the words that a beginning without an index of its own may have.
func long(words []string) []string {
	all := []string{}
	for _, w := range words {
		if len(w) > indexedPrefix {
			all = append(all, w)
		}
	}
	return all
}

// Delete forgets the words of a document. Words that no document has any more stay
// known until the index is filled anew; they find nothing.
func (tables) Delete(tx sqldb.Tx, slot search.Slot, docid int64) error {
	for _, name := range []string{"titles", "terms"} {
		if err := tx.Exec("DELETE FROM search_"+name+"_"+string(slot)+" WHERE rowid = ?", docid); err != nil {
			return err
		}
	}
	return nil
}

// Bulk is little at once, since there is one writer for everything.
func (Index) Bulk() (documents, bytes int) { return 128, 128 << 10 }

// Clear takes documents out, and all words at once.
func (i Index) Clear(tx sqldb.Tx, slot search.Slot, limit int) (bool, error) {
	empty, err := i.Empty(tx, slot)
	if err != nil || empty {
		return false, err
	}
	for _, name := range []string{"titles", "terms"} {
		table := "search_" + name + "_" + string(slot)
		if err := tx.Exec("INSERT INTO " + table + " (" + table + ") VALUES ('delete-all')"); err != nil {
			return true, err
		}
	}
	if err := tx.Exec("DELETE FROM search_words_" + string(slot)); err != nil {
		return true, err
	}
	return i.Cleared(tx, slot, limit)
}

// mergePages is how many pages Finish merges at once.
const mergePages = 64

// Finish merges what many transactions left, since a search looks into each piece. It is
// done a little at a time, because there is one writer for everything.
func (Index) Finish(tx sqldb.Tx, slot search.Slot) (more bool, err error) {
	for _, name := range []string{"titles", "terms"} {
		table := "search_" + name + "_" + string(slot)
		var before, after int64
		if err := tx.Row("SELECT total_changes()").Scan(&before); err != nil {
			return false, err
		}
		if err := tx.Exec("INSERT INTO "+table+" ("+table+", rank) VALUES ('merge', ?)", -mergePages); err != nil {
			return false, err
		}
		if err := tx.Row("SELECT total_changes()").Scan(&after); err != nil {
			return false, err
		}
		if after-before > 1 { // it wrote something beside the command itself
			return true, nil
		}
	}
	return false, nil
}
