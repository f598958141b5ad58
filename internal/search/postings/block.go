package postings

import (
	"encoding/binary"
	"slices"
)

// blockMost is how many documents a block has at most. A change of a document rewrites one
// block of each of its lists; a search reads whole ones.
const blockMost = 128

// block is a piece of a list: documents from low up to the next block's low, in rising
// order. It may be empty; a list's first block has low 0.
type block struct {
	low    int64
	docids []int64
}

// encode writes the distances between a block's numbers, from low on.
func (b block) encode() []byte {
	out := make([]byte, 0, 4*len(b.docids))
	last := b.low
	for _, d := range b.docids {
		out = binary.AppendUvarint(out, uint64(d-last))
		last = d
	}
	return out
}

// decode reads what encode wrote. What is broken ends the block.
func decode(low int64, data []byte) block {
	b := block{low: low, docids: make([]int64, 0, blockMost)}
	last := low
	for len(data) > 0 {
		d, n := binary.Uvarint(data)
		if n <= 0 {
			break
		}
		last += int64(d)
		b.docids = append(b.docids, last)
		data = data[n:]
	}
	return b
}

// change adds documents to a block and takes others out, and answers the blocks that it
// becomes: one, or several when they are too many for one. All of them are rising.
func (b block) change(add, gone []int64) []block {
	grown := len(b.docids) == 0 || len(add) > 0 && add[0] > b.docids[len(b.docids)-1]
	docids := slices.DeleteFunc(slices.Clone(b.docids), func(d int64) bool {
		_, found := slices.BinarySearch(gone, d)
		return found
	})
	docids = append(docids, add...)
	slices.Sort(docids)
	return split(b.low, slices.Compact(docids), grown)
}

// split cuts numbers into blocks. Where a list grows at its end, which is most often, all
// but the last one are full; elsewhere each keeps room.
func split(low int64, docids []int64, grown bool) []block {
	if len(docids) <= blockMost {
		return []block{{low, docids}}
	}
	size := blockMost
	if !grown {
		pieces := len(docids)/(blockMost*3/4) + 1
		size = (len(docids) + pieces - 1) / pieces
	}
	var all []block
	for piece := range slices.Chunk(docids, size) {
		if len(all) > 0 {
			low = piece[0]
		}
		all = append(all, block{low, piece})
	}
	return all
}
