package postings

import (
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Search answers a page.
func (Index) Search(q sqldb.Querier, slot search.Slot, c search.Criteria) (search.Result, error) {
	if !relational.Safe(c) {
		return search.Empty(c), nil
	}
	f := finding{q: q, slot: slot, c: c, words: search.ParseQuery(c.Query)}
	if c.Query == "" {
		return f.list()
	}
	if len(f.words.Words) == 0 {
		return search.Empty(c), nil
	}
	docids, more, err := f.newest(anywhere)
	if err != nil {
		return search.Result{}, err
	}
	if more { // else those by name are among them
		title, _, err := f.newest(inTitle)
		if err != nil {
			return search.Result{}, err
		}
		docids = unique(append(docids, title...))
	}
	found, err := readNarrow(q, slot, docids)
	if err != nil {
		return search.Result{}, err
	}
	found = slices.DeleteFunc(found, func(d relational.Found) bool { return !relational.Fits(c, d) }) // changed meanwhile
	return relational.Rank(q, slot, c, f.words, relational.Candidates{All: found, More: more})
}

// finding is one search.
type finding struct {
	q     sqldb.Querier
	slot  search.Slot
	c     search.Criteria
	words search.Query
}

// newest are the newest documents that have all words in a field, at most
// search.Candidates. more says that there are more, or that there may be.
func (f finding) newest(in field) (docids []int64, more bool, err error) {
	for _, scope := range scopesOf(f.c) {
		some, open, err := f.inScope(in, scope)
		if err != nil {
			return nil, false, err
		}
		docids, more = append(docids, some...), more || open
	}
	docids = unique(docids)
	more = more || len(docids) > search.Candidates
	return docids[:min(len(docids), search.Candidates)], more, nil
}

// unique sorts the newest first and takes out what is there twice.
func unique(docids []int64) []int64 {
	slices.SortFunc(docids, falling)
	return slices.Compact(docids)
}

// inScope are the newest documents of a scope, one more than search.Candidates where there
// are so many. open says that not all could be looked at.
func (f finding) inScope(in field, scope string) (docids []int64, open bool, err error) {
	groups := narrowed(f.c, scope)
	var from string
	for n, word := range f.words.Words {
		switch {
		case !f.words.Open(n):
			groups = append(groups, []string{listOf(in, scope, word)})
		case search.Short(word):
			groups = append(groups, []string{listOf(in, scope, word), listOf(anywhere, scope, search.Beginning(word))})
		default:
			from = listOf(in, scope, word)
		}
	}
	w, many, err := f.start(groups, from)
	switch {
	case err != nil || w == nil:
		return nil, false, err
	case many:
		return f.read(in, scope, groups)
	}
	docids, err = w.collect(search.Candidates + 1)
	return docids, false, err
}

// start begins a walk over groups of lists, and one more of the lists that begin like from
// unless that is "". It is nil when one of them has no list; many says that too many begin so.
func (f finding) start(groups [][]string, from string) (w *walk, many bool, err error) {
	most, to := firstBlocks, ""
	if len(groups) > 1 || from != "" && len(groups) > 0 {
		most = firstOfSeveral
	}
	if from != "" {
		to = from + "~"
	}
	found, err := newestBlocks(f.q, f.slot, slices.Concat(groups...), from, to, most)
	if err != nil {
		return nil, false, err
	}
	if from != "" {
		var alike []string
		for name := range found {
			if strings.HasPrefix(name, from) {
				alike = append(alike, name)
			}
		}
		if len(alike) > mostLists {
			return &walk{}, true, nil
		}
		groups = append(slices.Clip(groups), alike)
	}
	w = &walk{q: f.q, slot: f.slot, before: newest, blocks: most, probe: firstProbe}
	for _, group := range groups {
		s := &stream{}
		for _, name := range group {
			if blocks := found[name]; len(blocks) > 0 {
				l := &list{name: name}
				l.take(blocks, newest, len(blocks) < most)
				s.lists = append(s.lists, l)
			}
		}
		if len(s.lists) == 0 {
			return nil, false, nil
		}
		w.streams = append(w.streams, s)
	}
	return w, false, nil
}
