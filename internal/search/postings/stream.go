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
type stream struct{ lists []*list }

// floor is from where on all lists are known.
func (s *stream) floor() int64 {
	f := int64(0)
	for _, l := range s.lists {
		f = max(f, l.floor)
	}
	return f
}

// between are the documents below a number and not below another one, down to which all
// lists are known: the newest of them, most at most, falling.
func (s *stream) between(before, floor int64, most int) []int64 {
	var parts heads
	for _, l := range s.lists {
		if part := span(l.docids, before, floor); len(part) > 0 {
			parts = append(parts, part)
		}
	}
	return parts.merge(most)
}

// heads are lists of numbers, falling, kept as a heap by their first ones.
type heads [][]int64

// merge answers the highest numbers, each once.
func (h heads) merge(most int) []int64 {
	switch len(h) {
	case 0:
		return nil
	case 1:
		return h[0][:min(len(h[0]), most)]
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
	var out []int64
	for len(h) > 0 && len(out) < most {
		if d := h[0][0]; len(out) == 0 || d != out[len(out)-1] {
			out = append(out, d)
		}
		if h[0] = h[0][1:]; len(h[0]) == 0 {
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		}
		h.sink(0)
	}
	return out
}

// sink puts a list below those that begin with a higher number.
func (h heads) sink(i int) {
	for {
		top := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child][0] > h[top][0] {
				top = child
			}
		}
		if top == i {
			return
		}
		h[i], h[top] = h[top], h[i]
		i = top
	}
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

// span are the numbers below one and not below another one.
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
