// Package tsvector finds documents with PostgreSQL's text search: two columns of words,
// one of names and labels and one of everything, each with a GIN index. What is narrowed
// by is a word as well. No text search configuration is used: words come ready.
//
// The newest documents are asked for, and PostgreSQL chooses: the index of words where
// few documents have them, the documents in order where many do.
package tsvector

import (
	"strings"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Index is the driver.
type Index struct{ relational.Documents }

var _ search.Index = Index{}

// New makes it. The tables are the store's migrations'.
func New() search.Index { return Index{relational.Documents{Words: columns{}}} }

// columns hold the words beside the document.
type columns struct{}

// Columns are the words of title and text.
func (columns) Columns(w relational.Kept) (names, params string, values []any) {
	return ", title, terms", ", CAST(CAST(? AS TEXT) AS tsvector), CAST(CAST(? AS TEXT) AS tsvector)",
		[]any{vector(w.Scope, w.Title), vector(w.Scope, w.All)}
}

// Insert does nothing: the words are in the document's row.
func (columns) Insert(sqldb.Tx, search.Slot, int64, relational.Kept) error { return nil }

// Delete does nothing.
func (columns) Delete(sqldb.Tx, search.Slot, int64) error { return nil }

func vector(lists ...[]string) string {
	var b strings.Builder
	for _, list := range lists {
		for _, w := range list {
			b.WriteString(quote(w) + " ")
		}
	}
	return b.String()
}

// quote makes a word nothing but a word. Words hold no quotes and no backslashes; one
// that did would lose them.
func quote(w string) string {
	return "'" + strings.NewReplacer("'", "", `\`, "").Replace(w) + "'"
}

// Clear empties a slot at once.
func (Index) Clear(tx sqldb.Tx, slot search.Slot, _ int) (bool, error) {
	if err := tx.Exec("TRUNCATE search_documents_" + string(slot)); err != nil {
		return true, err
	}
	return false, tx.Exec("DELETE FROM search_counts WHERE slot = ?", string(slot))
}

// Filled counts the words, which is what PostgreSQL chooses by.
func (Index) Filled(tx sqldb.Tx, slot search.Slot) error {
	return tx.Exec("ANALYZE search_documents_" + string(slot))
}

// Search answers a page.
func (i Index) Search(q sqldb.Querier, slot search.Slot, c search.Criteria) (search.Result, error) {
	if !relational.Safe(c) {
		return search.Empty(c), nil
	}
	if c.Query == "" {
		return i.list(q, slot, c)
	}
	words := search.ParseQuery(c.Query)
	match := expression(c, words)
	var found relational.Candidates
	var err error
	if found.All, err = newest(q, slot, "terms", match); err != nil {
		return search.Result{}, err
	}
	if found.More = len(found.All) > search.Candidates; found.More { // else those by name are among them
		found.All = found.All[:search.Candidates]
		if found.Title, err = newest(q, slot, "title", match); err != nil {
			return search.Result{}, err
		}
		found.Title = found.Title[:min(len(found.Title), search.Candidates)]
	}
	return relational.Rank(q, slot, c, words, found)
}

func newest(q sqldb.Querier, slot search.Slot, column, match string) ([]relational.Found, error) {
	return relational.Read(q, "SELECT "+relational.Columns+" FROM search_documents_"+string(slot)+" d WHERE d."+column+
		" @@ CAST(CAST(? AS TEXT) AS tsquery) ORDER BY d.docid DESC LIMIT ?", match, search.Candidates+1)
}

// list answers a page of all that criteria are narrowed to, the newest first.
func (Index) list(q sqldb.Querier, slot search.Slot, c search.Criteria) (search.Result, error) {
	where, args := relational.Narrow(c, "d")
	found, err := relational.Read(q, "SELECT "+relational.Columns+" FROM search_documents_"+string(slot)+" d WHERE d.docid > 0"+where+
		" ORDER BY d.docid DESC LIMIT ? OFFSET ?", append(args, c.Size, relational.Offset(c))...)
	if err != nil {
		return search.Result{}, err
	}
	return relational.List(q, slot, c, found)
}

// expression is what PostgreSQL looks for: all words, and what criteria are narrowed to.
func expression(c search.Criteria, words search.Query) string {
	var parts []string
	for n, w := range words.Words {
		part := quote(w)
		switch {
		case words.Open(n) && search.Short(w):
			part = anyOf([]string{part, quote(search.Beginning(w))})
		case words.Open(n):
			part += ":*"
		}
		parts = append(parts, part)
	}
	for _, words := range relational.Scopes(c) {
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = quote(w)
		}
		parts = append(parts, anyOf(quoted))
	}
	return strings.Join(parts, " & ")
}

func anyOf(words []string) string { return "(" + strings.Join(words, " | ") + ")" }
