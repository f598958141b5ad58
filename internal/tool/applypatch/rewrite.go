package applypatch

import (
	"cmp"
	"slices"
	"strings"
)

// mark is the byte order mark with which some files begin.
const mark = "\ufeff"

// row is one line of a file.
type row struct {
	text string
	end  string // "\n", "\r\n", or "" at the end of a file
}

// rows splits a file.
func rows(content string) []row {
	var all []row
	for l := range strings.Lines(content) {
		r := row{text: l}
		for _, e := range []string{"\r\n", "\n"} {
			if text, is := strings.CutSuffix(l, e); is {
				r = row{text, e}
				break
			}
		}
		all = append(all, r)
	}
	return all
}

// misfit is a hunk that has no place.
type misfit struct {
	hunk *hunk
	why  string
}

// rewrite gives a file's content after its hunks, or those that do not fit.
func rewrite(content string, hunks []*hunk) (string, []misfit) {
	content, marked := strings.CutPrefix(content, mark)
	have := rows(content)
	texts := make([]string, len(have))
	for i, r := range have {
		texts[i] = r.text
	}
	p := newPlacer(texts)
	var bad []misfit
	for _, h := range hunks {
		if why := p.place(h); why != "" {
			bad = append(bad, misfit{h, why})
		}
	}
	if len(bad) > 0 {
		return "", bad
	}
	slices.SortStableFunc(p.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	after := join(replaced(have, p.spans))
	if marked {
		after = mark + after
	}
	return after, nil
}

// replaced gives the rows with the spans changed.
func replaced(have []row, spans []span) []row {
	var out []row
	next := 0
	for _, s := range spans {
		out = append(out, have[next:s.from]...)
		out = append(out, s.rows(have)...)
		next = s.to
	}
	return append(out, have[next:]...)
}

// rows gives what stands in the span after the change. Lines that stay are taken from
// the file, so that they stay byte for byte.
func (s span) rows(have []row) []row {
	lead, trail := s.hunk.edges()
	lines := s.hunk.lines[lead:]
	lines = lines[:max(0, len(lines)-trail)]
	end := lineEnd(have, s.from)
	var out []row
	at := s.from
	for _, l := range lines {
		switch l.op {
		case '+':
			out = append(out, row{l.text, end})
		case '-':
			at++
		default:
			out = append(out, have[at])
			at++
		}
	}
	if n := len(lines); s.to == len(have) && n > 0 && lines[n-1].op == '+' && s.bareEnd(have) {
		out[len(out)-1].end = ""
	}
	return out
}

// bareEnd tells whether a line that comes to the end of a file has no line end: the
// patch says so, or it cannot say and takes the place of one that has none.
func (s span) bareEnd(have []row) bool {
	if s.hunk.bareEnd {
		return true
	}
	n := len(have)
	return !s.hunk.counted && n > 0 && have[n-1].end == "" && s.to > s.from
}

// lineEnd is that of the lines around a place.
func lineEnd(have []row, at int) string {
	if at > 0 && have[at-1].end != "" {
		return have[at-1].end
	}
	if at < len(have) && have[at].end != "" {
		return have[at].end
	}
	if len(have) > 0 && have[0].end != "" {
		return have[0].end
	}
	return "\n"
}

// join writes rows. A row that is not the last and has no line end gets one.
func join(all []row) string {
	var b strings.Builder
	for i, r := range all {
		if r.end == "" && i < len(all)-1 {
			r.end = lineEnd(all, i)
		}
		b.WriteString(r.text)
		b.WriteString(r.end)
	}
	return b.String()
}
