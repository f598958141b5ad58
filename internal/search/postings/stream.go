package postings

import (
	"math"
	"slices"
)

// newest is above every number.
const newest = math.MaxInt64

// list is what is known of one list: all of its documents from floor up to where the walk
// is. A list with floor 0 is known to its end.
type list struct {
	name   string
	docids []int64 // falling
	floor  int64
}

// take adds the blocks that go on where the walk is. fewer says that the list has no more.
func (l *list) take(blocks []block, before int64, fewer bool) {
	slices.SortFunc(blocks, func(a, b block) int { return falling(a.low, b.low) })
	for _, b := range blocks {
		for _, d := range slices.Backward(b.docids) {
			if d < before {
				l.docids = append(l.docids, d)
			}
		}
		l.floor = b.low
	}
	if fewer {
		l.floor = 0
	}
}

// stream is a group of lists: a document fits that is in one of them.
type stream struct {
	lists  []*list
	merged []int64 // what is known of all lists, falling; nil when it has to be made
}

// floor is from where on all lists are known.
func (s *stream) floor() int64 {
	f := int64(0)
	for _, l := range s.lists {
		f = max(f, l.floor)
	}
	return f
}

// known are the documents of all lists, falling, from floor on.
func (s *stream) known() []int64 {
	if s.merged == nil {
		s.merged = s.merge()
	}
	return s.merged
}

func (s *stream) merge() []int64 {
	floor := s.floor()
	if len(s.lists) == 1 {
		return s.lists[0].docids
	}
	docids := []int64{}
	for _, l := range s.lists {
		for _, d := range l.docids {
			if d < floor {
				break
			}
			docids = append(docids, d)
		}
	}
	slices.SortFunc(docids, falling)
	return slices.Compact(docids)
}

func falling(a, b int64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// between are the known documents below a number and not below another one.
func (s *stream) between(before, floor int64) []int64 { return span(s.known(), before, floor) }

func span(docids []int64, before, floor int64) []int64 {
	from, _ := slices.BinarySearchFunc(docids, before-1, falling)
	to, found := slices.BinarySearchFunc(docids, floor, falling)
	if found {
		to++
	}
	return docids[from:max(from, to)]
}

// has tells whether a document is in what is known.
func has(docids []int64, d int64) bool {
	_, found := slices.BinarySearchFunc(docids, d, falling)
	return found
}

// both are the documents that are in each of the lists of numbers, falling.
func both(lists [][]int64) []int64 {
	slices.SortFunc(lists, func(a, b []int64) int { return len(a) - len(b) })
	out := lists[0]
	for _, other := range lists[1:] {
		out = overlap(out, other)
	}
	return out
}

func overlap(few, many []int64) []int64 {
	out := make([]int64, 0, len(few))
	at := 0
	for _, d := range few {
		for at < len(many) && many[at] > d {
			at++
		}
		if at < len(many) && many[at] == d {
			out = append(out, d)
		}
	}
	return out
}
