package postings

import (
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Newest are the newest documents that have all words of criteria, anywhere or in the title.
func Newest(q sqldb.Querier, slot search.Slot, c search.Criteria, title bool) ([]int64, bool, error) {
	in := anywhere
	if title {
		in = inTitle
	}
	return finding{q: q, slot: slot, c: c, words: search.ParseQuery(c.Query)}.newest(in)
}

// Page are the documents of a page of a list.
func Page(q sqldb.Querier, slot search.Slot, c search.Criteria) ([]int64, error) {
	return finding{q: q, slot: slot, c: c}.page()
}
