package postings

import (
	"maps"
	"slices"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// output are the blocks that a transaction writes and removes.
type output struct {
	lists     []string
	lows      []int64
	documents []int16
	docids    [][]byte

	goneLists, emptied []string // later blocks that are empty; lists whose first one is
	goneLows           []int64
}

// change changes a list. Its blocks are those that the changed documents belong to.
func (o *output) change(list string, blocks []block, by map[int64]int) {
	slices.SortFunc(blocks, func(a, b block) int { return int(min(1, max(-1, a.low-b.low))) })
	if len(blocks) == 0 || blocks[0].low > least(by) {
		blocks = slices.Insert(blocks, 0, block{})
	}
	add, gone := make([][]int64, len(blocks)), make([][]int64, len(blocks))
	for _, docid := range slices.Sorted(maps.Keys(by)) {
		at, found := slices.BinarySearchFunc(blocks, docid, func(b block, d int64) int { return int(min(1, max(-1, b.low-d))) })
		if !found {
			at--
		}
		if by[docid] > 0 {
			add[at] = append(add[at], docid)
		} else {
			gone[at] = append(gone[at], docid)
		}
	}
	for i, b := range blocks {
		for _, next := range b.change(add[i], gone[i]) {
			o.put(list, next)
		}
	}
}

func (o *output) put(list string, b block) {
	switch {
	case len(b.docids) == 0 && b.low > 0:
		o.goneLists, o.goneLows = append(o.goneLists, list), append(o.goneLows, b.low)
		return
	case len(b.docids) == 0:
		o.emptied = append(o.emptied, list)
	}
	o.lists, o.lows = append(o.lists, list), append(o.lows, b.low)
	o.documents, o.docids = append(o.documents, int16(len(b.docids))), append(o.docids, b.encode())
}

// rowsAtOnce is how many blocks a statement writes.
const rowsAtOnce = 2048

// write stores the blocks. A list's first block stays as long as the list has others,
// because words are looked for by it.
func (o *output) write(tx sqldb.Tx, slot search.Slot) error {
	table := postingsOf(slot)
	for from := 0; from < len(o.lists); from += rowsAtOnce {
		to := min(len(o.lists), from+rowsAtOnce)
		if err := tx.Exec("INSERT INTO "+table+` (list, low, documents, docids)
			SELECT * FROM unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[]), CAST(? AS SMALLINT[]), CAST(? AS BYTEA[]))
			ON CONFLICT (list, low) DO UPDATE SET documents = excluded.documents, docids = excluded.docids`,
			o.lists[from:to], o.lows[from:to], o.documents[from:to], o.docids[from:to]); err != nil {
			return err
		}
	}
	if len(o.goneLists) > 0 {
		if err := tx.Exec("DELETE FROM "+table+" p USING unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[])) AS k (list, low) WHERE p.list = k.list AND p.low = k.low",
			o.goneLists, o.goneLows); err != nil {
			return err
		}
	}
	if len(o.emptied) == 0 {
		return nil
	}
	return tx.Exec("DELETE FROM "+table+` p USING unnest(CAST(? AS TEXT[])) AS k (list)
		WHERE p.list = k.list AND p.low = 0 AND p.documents = 0 AND (SELECT o.low FROM `+table+" o WHERE o.list = k.list AND o.low > 0 LIMIT 1) IS NULL", o.emptied)
}
