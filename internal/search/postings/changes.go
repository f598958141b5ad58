package postings

import (
	"maps"
	"slices"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// changes are what comes to lists and goes from them, by list and document: above 0 what
// comes, below what goes. What goes and comes back is no change.
type changes map[string]map[int64]int

func (c changes) note(lists []string, docid int64, by int) {
	for _, list := range lists {
		of := c[list]
		if of == nil {
			of = map[int64]int{}
			c[list] = of
		}
		if of[docid] += by; of[docid] == 0 {
			if delete(of, docid); len(of) == 0 {
				delete(c, list)
			}
		}
	}
}

// names are the lists that change, in order.
func (c changes) names() []string { return slices.Sorted(maps.Keys(c)) }

// write brings changes into the blocks.
func (c changes) write(tx sqldb.Tx, slot search.Slot) error {
	names := c.names()
	if len(names) == 0 {
		return nil
	}
	there, err := c.blocks(tx, slot, names)
	if err != nil {
		return err
	}
	var out output
	for _, list := range names {
		out.change(list, there[list], c[list])
	}
	return out.write(tx, slot)
}

// blocks reads those that the changed documents belong to. Most lists grow at their end,
// where one block takes all that comes; only what lies behind the first block that is
// found needs a second look.
func (c changes) blocks(tx sqldb.Tx, slot search.Slot, names []string) (map[string][]block, error) {
	first := make([]int64, len(names))
	for i, list := range names {
		first[i] = least(c[list])
	}
	there, ends, err := blocksWithEnds(tx, slot, names, first)
	if err != nil {
		return nil, err
	}
	var lists []string
	var docids []int64
	for _, list := range names {
		for docid := range c[list] {
			if end := ends[list]; end > 0 && docid >= end {
				lists, docids = append(lists, list), append(docids, docid)
			}
		}
	}
	if len(lists) == 0 {
		return there, nil
	}
	more, err := blocksAt(tx, slot, lists, docids)
	for list, blocks := range more {
		there[list] = append(there[list], blocks...)
	}
	return there, err
}

func least(docids map[int64]int) int64 {
	low := int64(newest)
	for d := range docids {
		low = min(low, d)
	}
	return low
}
