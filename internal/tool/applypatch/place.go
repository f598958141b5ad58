package applypatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	mostPlaces = 10 // of one passage that are named
	clearly    = 3  // times nearer than the next place is clearly the place that was meant
)

// span is the place of a hunk in the lines of a file: from..to are the lines that it
// changes, and the lines around them that stay are not in it.
type span struct {
	hunk     *hunk
	from, to int
}

// placer finds the places of a file's hunks.
type placer struct {
	have    []string // the lines as they are
	trimmed []string // the same without blanks at their ends
	spans   []span
	cursor  int // behind the last hunk that was placed
	drift   int // how far the last one stood from where its numbers said
}

func newPlacer(have []string) *placer {
	p := &placer{have: have, trimmed: make([]string, len(have))}
	for i, l := range have {
		p.trimmed[i] = ending(l)
	}
	return p
}

// ending cuts the blanks at a line's end.
func ending(l string) string { return strings.TrimRight(l, " \t") }

// place finds where a hunk belongs. It answers what the model should know when that
// cannot be told.
func (p *placer) place(h *hunk) string {
	want := h.before()
	start, anchored := p.anchor(h)
	var at int
	if len(want) == 0 {
		var bad string
		if at, bad = p.insertion(h, start, anchored); bad != "" {
			return bad
		}
	} else {
		all := p.candidates(h, want, start)
		if len(all) == 0 {
			return p.nowhere(want)
		}
		var sure bool
		if at, sure = p.choose(h, all, anchored && all[0] >= start); !sure {
			return several(all)
		}
		if h.at > 0 {
			p.drift = at + 1 - h.at
		}
	}
	p.put(h, at, len(want))
	return ""
}

// put notes the place of a hunk whose lines begin at a line.
func (p *placer) put(h *hunk, at, n int) {
	lead, trail := h.edges()
	s := span{hunk: h, from: at + lead, to: at + max(lead, n-trail)}
	p.spans = append(p.spans, s)
	p.cursor = s.to
}

// anchor finds the lines that the hunk names as standing above its passage. One that
// is not there is no hindrance: then the passage itself must tell.
func (p *placer) anchor(h *hunk) (start int, anchored bool) {
	start = p.cursor
	for _, a := range h.anchors {
		i := p.anchorFrom(a, start)
		if i < 0 && !anchored {
			i = p.anchorFrom(a, 0)
		}
		if i < 0 {
			return p.cursor, false
		}
		start, anchored = i, true
	}
	return start, anchored
}

func (p *placer) anchorFrom(text string, from int) int {
	for _, same := range []func(string) bool{
		func(l string) bool { return strings.TrimSpace(l) == text },
		func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), text) },
	} {
		if i := slices.IndexFunc(p.have[min(from, len(p.have)):], same); i >= 0 {
			return min(from, len(p.have)) + i
		}
	}
	return -1
}

// insertion is the place of a hunk that names no line which is there.
func (p *placer) insertion(h *hunk, start int, anchored bool) (at int, bad string) {
	switch {
	case len(p.have) == 0:
		return 0, ""
	case anchored:
		return start + 1, ""
	case h.atEnd:
		return len(p.have), ""
	case h.counted:
		return min(max(0, h.at+p.drift), len(p.have)), "" // the number is that of the line before it
	}
	return 0, "the hunk only adds lines and does not say where: put a line before or after them that stands in the file, with a blank in front."
}

// candidates are the places where the passage stands: exactly, or else but for blanks
// at the ends of lines; behind the hunk before it, or else anywhere that is free.
func (p *placer) candidates(h *hunk, want []string, start int) []int {
	bare := make([]string, len(want))
	for i, l := range want {
		bare[i] = ending(l)
	}
	for _, from := range slices.Compact([]int{start, min(p.cursor, start), 0}) {
		for _, try := range []struct{ have, want []string }{{p.have, want}, {p.trimmed, bare}} {
			all := slices.DeleteFunc(occurrences(try.have, try.want, from), func(at int) bool { return !p.free(h, at, len(want)) })
			if len(all) > 0 {
				return all
			}
		}
	}
	return nil
}

// free tells whether no other hunk changes a line that this one would.
func (p *placer) free(h *hunk, at, n int) bool {
	lead, trail := h.edges()
	from, to := at+lead, at+max(lead, n-trail)
	return !slices.ContainsFunc(p.spans, func(s span) bool {
		return from < s.to && s.from < to || from == to && s.from < from && from < s.to || s.from == s.to && from < s.from && s.from < to
	})
}

// choose takes the place that the hunk's own words favour, and tells whether they do
// so clearly: of places that its number does not tell apart, none is right.
func (p *placer) choose(h *hunk, all []int, anchored bool) (at int, sure bool) {
	switch {
	case len(all) == 1 || anchored:
		return all[0], true
	case h.atEnd:
		return all[len(all)-1], true
	case h.at == 0:
		return 0, false
	}
	hint := h.at - 1 + p.drift
	far := func(at int) int { return max(at-hint, hint-at) }
	all = slices.SortedFunc(slices.Values(all), func(a, b int) int { return cmp.Compare(far(a), far(b)) })
	return all[0], clearly*far(all[0]) < far(all[1])
}

// nowhere says that a passage does not fit, and what nearly does.
func (p *placer) nowhere(want []string) string {
	near, ok := tool.Nearest(p.have, want)
	if !ok {
		return "nothing in the file is near its lines. Read the file again: it may have changed."
	}
	return fmt.Sprintf("its lines are not in the file. The nearest passage begins at line %d; %d of %s agree. `-` is what the patch expects, `+` what stands there:\n%s",
		near.Line, near.Same, tool.Count(near.Wanted, "line", "lines"), strings.TrimSuffix(near.Diff, "\n"))
}

func several(all []int) string {
	var lines []string
	for _, at := range all[:min(len(all), mostPlaces)] {
		lines = append(lines, fmt.Sprint(at+1))
	}
	more := ""
	if len(all) > mostPlaces {
		more = " and more"
	}
	return fmt.Sprintf("its lines stand in %d places, at lines %s%s. Add lines around the right one, or a line `@@ ` with the function or class that it is in.", len(all), strings.Join(lines, ", "), more)
}

// occurrences are all lines, from one on, where want stands in have. The work is
// linear: after a line that differs, what is known of the lines before it is used.
func occurrences(have, want []string, from int) []int {
	back := make([]int, len(want)) // the longest beginning of want that ends at each of its lines
	for i, k := 1, 0; i < len(want); i++ {
		for k > 0 && want[i] != want[k] {
			k = back[k-1]
		}
		if want[i] == want[k] {
			k++
		}
		back[i] = k
	}
	var all []int
	for i, k := from, 0; i < len(have); i++ {
		for k > 0 && (k == len(want) || have[i] != want[k]) {
			k = back[k-1]
		}
		if have[i] == want[k] {
			k++
		}
		if k == len(want) {
			all = append(all, i+1-k)
		}
	}
	return all
}
