package fts5

import (
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Search answers a page.
func (i Index) Search(q sqldb.Querier, slot search.Slot, c search.Criteria) (search.Result, error) {
	if !relational.Safe(c) {
		return search.Empty(c), nil
	}
	if c.Query == "" {
		return i.list(q, slot, c)
	}
	words := search.ParseQuery(c.Query)
	match, err := expression(q, slot, words)
	if err != nil || match == "" {
		return search.Empty(c), err
	}
	var found relational.Candidates
	if found.All, found.More, err = i.find(q, slot, "terms", c, match); err != nil {
		return search.Result{}, err
	}
	if found.More { // else those by name are among them
		if found.Title, _, err = i.find(q, slot, "titles", c, match); err != nil {
			return search.Result{}, err
		}
	}
	return relational.Rank(q, slot, c, words, found)
}

// find reads the newest documents that fit. Where almost all documents are what criteria are
// narrowed to, the others are taken out after reading; else while reading.
func (i Index) find(q sqldb.Querier, slot search.Slot, name string, c search.Criteria, match string) (rows []relational.Found, more bool, err error) {
	scope := scopeOf(c)
	if scope != "" {
		share, err := relational.Share(q, slot, c)
		if err != nil {
			return nil, false, err
		}
		if share >= almostAll {
			rows, enough, err := i.most(q, slot, name, c, match, search.Candidates+1+spare(share))
			if enough || err != nil {
				return rows[:min(len(rows), search.Candidates)], len(rows) > search.Candidates, err
			}
		}
		match = scope + " AND " + match
	}
	rows, err = i.newest(q, slot, name, match, search.Candidates+1)
	return rows[:min(len(rows), search.Candidates)], len(rows) > search.Candidates, err
}

// almostAll is the share of documents from which on others are taken out after reading.
const almostAll = 0.9

// spare is how many documents are read more, so that enough are left.
func spare(share float64) int { return 8 + int(2*search.Candidates*(1/share-1)) }

// most reads the newest documents and takes out what does not fit. enough says that no
// other ones have to be read.
func (i Index) most(q sqldb.Querier, slot search.Slot, name string, c search.Criteria, match string, read int) (rows []relational.Found, enough bool, err error) {
	if rows, err = i.newest(q, slot, name, match, read); err != nil {
		return nil, false, err
	}
	looked := len(rows)
	rows = slices.DeleteFunc(rows, func(f relational.Found) bool { return !relational.Fits(c, f) })
	return rows, len(rows) > search.Candidates || looked < read, nil
}

// newest reads the newest documents that match.
func (Index) newest(q sqldb.Querier, slot search.Slot, name, match string, limit int) ([]relational.Found, error) {
	table := "search_" + name + "_" + string(slot)
	return relational.Read(q, "SELECT "+relational.Columns+" FROM "+table+" f JOIN search_documents_"+string(slot)+" d ON d.docid = f.rowid WHERE f."+table+
		" MATCH ? ORDER BY f.rowid DESC LIMIT ?", match, limit)
}

// behind reads the newest documents that match, behind so many, which are not read.
func (Index) behind(q sqldb.Querier, slot search.Slot, match string, limit int, offset int64) ([]relational.Found, error) {
	table := "search_terms_" + string(slot)
	return relational.Read(q, "SELECT "+relational.Columns+" FROM (SELECT rowid AS docid FROM "+table+" WHERE "+table+" MATCH ? ORDER BY rowid DESC LIMIT ? OFFSET ?) f JOIN search_documents_"+string(slot)+
		" d ON d.docid = f.docid ORDER BY d.docid DESC", match, limit, offset)
}

// list answers a page of all that criteria are narrowed to, the newest first.
func (i Index) list(q sqldb.Querier, slot search.Slot, c search.Criteria) (search.Result, error) {
	var found []relational.Found
	var err error
	if scope := scopeOf(c); scope != "" {
		found, err = i.behind(q, slot, scope, c.Size, relational.Offset(c))
	} else {
		found, err = relational.Read(q, "SELECT "+relational.Columns+" FROM search_documents_"+string(slot)+" d ORDER BY d.docid DESC LIMIT ? OFFSET ?", c.Size, relational.Offset(c))
	}
	if err != nil {
		return search.Result{}, err
	}
	return relational.List(q, slot, c, found)
}

// expression is what FTS5 looks for: each word quoted, all of them. "" when nothing can
// be found.
func expression(q sqldb.Querier, slot search.Slot, words search.Query) (string, error) {
	var parts []string
	for n, w := range words.Words {
		if !words.Open(n) {
			parts = append(parts, quote(w))
			continue
		}
		last, err := beginning(q, slot, w)
		if err != nil || last == "" {
			return "", err
		}
		parts = append(parts, last)
	}
	return strings.Join(parts, " AND "), nil
}

// beginning looks for all words that begin so.
func beginning(q sqldb.Querier, slot search.Slot, w string) (string, error) {
	switch {
	case search.Short(w):
		return anyOf([]string{quote(w), quote(search.Beginning(w))}), nil
	case len(w) == indexedPrefix:
		return quote(w) + " *", nil
	}
	var known []string
	err := q.Rows(func(r sqldb.Scanner) error {
		var word string
		err := r.Scan(&word)
		known = append(known, quote(word))
		return err
	}, "SELECT word FROM search_words_"+string(slot)+" WHERE word >= ? AND word < ? LIMIT ?", w, w+"~", mostWords+1)
	switch {
	case err != nil || len(known) == 0:
		return "", err
	case len(known) > mostWords:
		return quote(w) + " *", nil
	}
	return anyOf(known), nil
}

// quote makes a word nothing but a word. Words hold no quotes; one that did would lose them.
func quote(w string) string { return `"` + strings.ReplaceAll(w, `"`, "") + `"` }

func anyOf(quoted []string) string {
	if len(quoted) == 1 {
		return quoted[0]
	}
	return "(" + strings.Join(quoted, " OR ") + ")"
}

// scopeOf is what criteria are narrowed to, in words; "" when nothing is left out.
func scopeOf(c search.Criteria) string {
	var parts []string
	for _, words := range relational.Scopes(c) {
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = quote(w)
		}
		parts = append(parts, anyOf(quoted))
	}
	return strings.Join(parts, " AND ")
}
