package postings

import (
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/search"
)

// Bounds of reading candidates.
const (
	mostRead  = 2048 // documents of a scope
	readAtOne = 256
)

// read looks at documents one by one, where so many words begin like the last one of a
// query that their lists are not walked. Groups are those of the other words.
func (f finding) read(in field, scope string, groups [][]string) (docids []int64, open bool, err error) {
	if len(groups) == 0 {
		groups = [][]string{{listOf(anywhere, scope, all)}}
	}
	w, _, err := f.start(groups, "")
	if err != nil || w == nil {
		return nil, false, err
	}
	for looked := 0; len(docids) <= search.Candidates && w.before > 0; {
		if looked >= mostRead {
			return docids, true, nil
		}
		some, err := w.collect(readAtOne)
		if err != nil {
			return nil, false, err
		}
		looked += len(some)
		fit, err := f.fitting(in, some)
		if err != nil {
			return nil, false, err
		}
		docids = append(docids, fit...)
	}
	return docids, false, nil
}

// fitting are those of some documents that have a word that begins like the query's last one.
func (f finding) fitting(in field, some []int64) (docids []int64, err error) {
	found, err := readWhole(f.q, f.slot, "WHERE d.docid = ANY(CAST(? AS BIGINT[]))", some)
	last := f.words.Words[len(f.words.Words)-1]
	for _, d := range found {
		words := d.All
		if in == inTitle {
			words = d.Title
		}
		if slices.ContainsFunc(words(), func(w string) bool { return strings.HasPrefix(w, last) }) {
			docids = append(docids, d.docid)
		}
	}
	slices.SortFunc(docids, falling)
	return docids, err
}
