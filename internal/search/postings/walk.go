package postings

import (
	"math"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Bounds of a walk.
const (
	// mostLists is how many words the beginning of one may stand for; beyond that
	// candidates are read and looked at.
	mostLists = 2048
	// firstBlocks and mostBlocks are how many blocks of a list are read at once, at first
	// and at most. Several words need more than one, since few documents have all of them.
	firstBlocks, firstOfSeveral, mostBlocks = 3, 8, 64
	// firstProbe and mostProbe are at how many numbers of the shortest list the others
	// are looked into at once.
	firstProbe, mostProbe = 256, 4096
)

// walk goes through a scope from the newest document down. Streams are known from where
// it is down to their floors.
type walk struct {
	q       sqldb.Querier
	slot    search.Slot
	streams []*stream
	before  int64 // everything from here on is decided
	blocks  int   // to read next
	probe   int   // to look at next
}

// collect answers the newest documents that fit all streams, falling: at least need of
// them, unless there are not so many.
func (w *walk) collect(need int) (found []int64, err error) {
	for {
		found = append(found, w.zip(need-len(found))...)
		if len(found) >= need || w.before == 0 {
			return found, nil
		}
		if d := w.driver(); d.floor() < w.before {
			some, err := w.look(d)
			if err != nil {
				return nil, err
			}
			found = append(found, some...)
		} else if err := w.extend(); err != nil {
			return nil, err
		}
	}
}

// zip decides what all streams know, or as much of it as makes up what is needed where
// there is one stream alone.
func (w *walk) zip(need int) []int64 {
	floor := int64(0)
	for _, s := range w.streams {
		floor = max(floor, s.floor())
	}
	if floor >= w.before {
		return nil
	}
	if len(w.streams) == 1 {
		some := w.streams[0].between(w.before, floor, need)
		if w.before = floor; len(some) == need {
			w.before = some[need-1]
		}
		return some
	}
	lists := make([][]int64, len(w.streams))
	for i, s := range w.streams {
		lists[i] = s.between(w.before, floor, math.MaxInt)
	}
	w.before = floor
	return both(lists)
}

// driver is the stream that is known farthest: the one with the fewest documents.
func (w *walk) driver() *stream {
	d := w.streams[0]
	for _, s := range w.streams[1:] {
		if s.floor() < d.floor() {
			d = s
		}
	}
	return d
}

// look decides by the next documents of one stream, which are looked for in the others.
func (w *walk) look(d *stream) ([]int64, error) {
	floor := d.floor()
	most := w.fewer(floor)
	candidates := d.between(w.before, floor, most)
	if len(candidates) == most {
		floor = candidates[most-1]
	}
	w.probe = min(2*w.probe, mostProbe)
	var lists []string
	var docids []int64
	for _, l := range w.unknown(floor) {
		for _, docid := range candidates {
			lists, docids = append(lists, l.name), append(docids, docid)
		}
	}
	var found map[string][]block
	var err error
	if len(lists) > 0 {
		if found, err = blocksAt(w.q, w.slot, lists, docids); err != nil {
			return nil, err
		}
	}
	for _, s := range w.streams {
		if s != d {
			candidates = s.among(candidates, floor, found)
		}
	}
	w.before = floor
	for _, l := range w.unknown(floor) { // what is known of them does not reach to here
		l.docids, l.floor = nil, floor
	}
	return candidates, nil
}

// fewer is at how many documents to look: less where many lists have to be looked into.
func (w *walk) fewer(floor int64) int {
	return max(16, min(w.probe, 2*mostProbe/max(1, len(w.unknown(floor)))))
}

// unknown are the lists that are not known down to a number.
func (w *walk) unknown(floor int64) (all []*list) {
	for _, s := range w.streams {
		for _, l := range s.lists {
			if l.floor > floor {
				all = append(all, l)
			}
		}
	}
	return all
}

// among are those of some documents that are in one of the stream's lists, as far as
// these are known or their blocks were read.
func (s *stream) among(candidates []int64, floor int64, read map[string][]block) []int64 {
	var out []int64
	in := map[int64]bool{}
	for _, l := range s.lists {
		if l.floor > floor {
			for _, b := range read[l.name] {
				for _, d := range b.docids {
					in[d] = true
				}
			}
		}
	}
	for _, d := range candidates {
		fits := in[d]
		for _, l := range s.lists {
			fits = fits || l.floor <= floor && has(l.docids, d)
		}
		if fits {
			out = append(out, d)
		}
	}
	return out
}

// extend reads the next blocks of all lists that are not known below where the walk is.
func (w *walk) extend() error {
	var names []string
	var before []int64
	var lists []*list
	for _, s := range w.streams {
		for _, l := range s.lists {
			if l.floor == w.before {
				lists, names, before = append(lists, l), append(names, l.name), append(before, w.before)
			}
		}
	}
	w.blocks = min(2*w.blocks, mostBlocks)
	found, err := blocksBelow(w.q, w.slot, names, before, w.blocks)
	for _, l := range lists {
		l.take(found[l.name], w.before, len(found[l.name]) < w.blocks)
	}
	return err
}
