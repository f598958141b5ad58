package postings

import (
	"slices"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
)

// list answers a page of all that criteria are narrowed to, the newest first.
func (f finding) list() (search.Result, error) {
	docids, err := f.page()
	if err != nil {
		return search.Result{}, err
	}
	found, err := readNarrow(f.q, f.slot, docids)
	if err != nil {
		return search.Result{}, err
	}
	slices.SortFunc(found, func(a, b relational.Found) int { return falling(a.Docid(), b.Docid()) })
	return relational.List(f.q, f.slot, f.c, found)
}

// page are the documents of a page.
func (f finding) page() (docids []int64, err error) {
	offset, scopes := relational.Offset(f.c), scopesOf(f.c)
	for _, scope := range scopes {
		groups := narrowed(f.c, scope)
		if len(groups) == 0 {
			groups = [][]string{{listOf(anywhere, scope, all)}}
		}
		if len(scopes) == 1 && len(groups) == 1 && len(groups[0]) == 1 {
			return f.skip(groups[0][0], offset)
		}
		w, _, err := f.start(groups, "")
		if err != nil {
			return nil, err
		}
		if w == nil {
			continue
		}
		some, err := w.collect(int(offset) + f.c.Size)
		if err != nil {
			return nil, err
		}
		docids = append(docids, some...)
	}
	docids = unique(docids)
	from := int(min(offset, int64(len(docids))))
	return docids[from:min(len(docids), from+f.c.Size)], nil
}

// skip are the documents of one list behind so many: blocks that are skipped are counted and
// not read.
func (f finding) skip(name string, offset int64) ([]int64, error) {
	before, skipped, err := blockBehind(f.q, f.slot, name, offset)
	if err != nil || before == 0 {
		return nil, err
	}
	l := &list{name: name, floor: before}
	need := int(offset-skipped) + f.c.Size
	for blocks := firstBlocks; len(l.docids) < need && l.floor > 0; blocks *= 2 {
		found, err := blocksBelow(f.q, f.slot, []string{name}, []int64{l.floor}, blocks)
		if err != nil {
			return nil, err
		}
		l.take(found[name], l.floor, len(found[name]) < blocks)
	}
	from := min(len(l.docids), int(offset-skipped))
	return l.docids[from:min(len(l.docids), need)], nil
}
