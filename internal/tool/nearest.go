package tool

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	mostWanted    = 200 // lines of a wanted text that are compared
	mostHolders   = 16  // wanted lines that a word may stand in and still tell something
	mostTokens    = 64  // of a line, in a comparison of two
	margin        = 3   // lines around the best place that may belong to the passage
	lineWeight    = 3.0 // of a whole line that agrees, against a rare word's 1
	leastLike     = 0.5 // how much of two lines must agree that one is called a form of the other
	leastPassage  = 0.4 // the same of two passages
	blankAgreed   = 0.1 // what a blank line that agrees is worth
	longestSingle = 1000
)

// Passage is the place in a text that is most like a wanted one.
type Passage struct {
	Line   int    // its first line, counted from 1
	Same   int    // wanted lines that stand in it, blanks around them aside
	Wanted int    // lines that were wanted, without blank ones around them
	Diff   string // the wanted lines (`- `) against those that stand there (`+ `)
}

// Nearest finds the passage of have that is most like the lines of want, of which it
// looks at the first 200. The work is linear in have. It answers false when nothing is
// much like them.
func Nearest(have, want []string) (Passage, bool) {
	want = bare(want)
	if len(want) == 0 || len(have) == 0 {
		return Passage{}, false
	}
	at, found := vote(have, want)
	if !found {
		return Passage{}, false
	}
	from := max(0, at-margin)
	pairs, score := align(want, have[from:min(len(have), at+len(want)+margin)])
	p := Passage{Wanted: len(want), Diff: diff(want, have[from:], pairs)}
	most := 0.0
	for i, j := range pairs {
		most += worth(want[i])
		if j < 0 {
			continue
		}
		if p.Line == 0 {
			p.Line = from + j + 1
		}
		if strings.TrimSpace(want[i]) == strings.TrimSpace(have[from+j]) {
			p.Same++
		}
	}
	return p, p.Line > 0 && score >= leastPassage*most
}

// bare drops blank lines at both ends and what is too much.
func bare(lines []string) []string {
	blank := func(l string) bool { return strings.TrimSpace(l) == "" }
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines[:min(len(lines), mostWanted)]
}

// holder is a word, or a whole line, of the wanted text.
type holder struct {
	lines  []int // where it stands there
	count  int   // lines that have it in the text
	seen   int   // the line that counted it last, plus one
	weight float64
}

// vote finds where the wanted text would begin if it stood in have: each word that
// both have speaks for the distance of its two lines, rare ones louder.
func vote(have, want []string) (at int, found bool) {
	index := map[string]*holder{}
	for j, l := range want {
		eachKey(l, func(key string, weight float64) {
			h := index[key]
			if h == nil {
				h = &holder{weight: weight}
				index[key] = h
			}
			if n := len(h.lines); n == 0 || h.lines[n-1] != j {
				h.lines = append(h.lines, j)
			}
		})
	}
	eachOnce(have, index, func(_ int, h *holder) { h.count++ })
	for _, h := range index {
		h.seen = 0
	}
	score := make([]float64, len(have)+len(want)+1)
	eachOnce(have, index, func(i int, h *holder) {
		for _, j := range h.lines[:min(len(h.lines), mostHolders)] {
			score[i-j+len(want)] += h.weight / (1 + math.Log(float64(h.count)))
		}
	})
	best := 0.0
	for s := 1; s < len(score)-1; s++ {
		if n := score[s] + (score[s-1]+score[s+1])/2; n > best {
			best, at = n, s-len(want)
		}
	}
	return at, best > 0
}

// eachOnce calls f for every line and every known key in it, once per line.
func eachOnce(lines []string, index map[string]*holder, f func(i int, h *holder)) {
	for i, l := range lines {
		eachKey(l, func(key string, _ float64) {
			if h := index[key]; h != nil && h.seen != i+1 {
				h.seen = i + 1
				f(i, h)
			}
		})
	}
}

// eachKey gives a line's words, and the line itself without the blanks around it.
func eachKey(line string, f func(key string, weight float64)) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	f("\n"+line[:min(len(line), longestSingle)], lineWeight) // no word begins with a line end
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return !wordly(r) }) {
		f(word, 1)
	}
}

func wordly(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// worth is what a wanted line adds to the best possible score.
func worth(line string) float64 {
	if strings.TrimSpace(line) == "" {
		return blankAgreed
	}
	return 1
}

// align pairs the lines of want with lines of have, in order, so that as much as can
// be agrees. It answers the line of have for each line of want, -1 for none.
func align(want, have []string) (pairs []int, score float64) {
	w, h := tokenised(want), tokenised(have)
	like := make([][]float64, len(want))
	best := make([][]float64, len(want)+1) // of the lines from i and from j on
	for i := range best {
		best[i] = make([]float64, len(have)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		like[i] = make([]float64, len(have))
		for j := len(have) - 1; j >= 0; j-- {
			like[i][j] = alike(want[i], have[j], w[i], h[j])
			best[i][j] = max(best[i+1][j], best[i][j+1], best[i+1][j+1]+like[i][j])
		}
	}
	pairs = make([]int, len(want))
	for i, j := 0, 0; i < len(want); {
		pairs[i] = -1
		switch {
		case j == len(have) || best[i][j] == best[i+1][j]:
			i++
		case like[i][j] > 0 && best[i][j] == best[i+1][j+1]+like[i][j]:
			pairs[i] = j
			i, j = i+1, j+1
		default:
			j++
		}
	}
	return pairs, best[0][0]
}

func tokenised(lines []string) [][]string {
	all := make([][]string, len(lines))
	for i, l := range lines {
		all[i] = tokens(l)
	}
	return all
}

// tokens are a line's words and its other characters but blanks, sorted.
func tokens(line string) []string {
	var all []string
	for len(line) > 0 && len(all) < mostTokens {
		n := strings.IndexFunc(line, func(r rune) bool { return !wordly(r) })
		switch {
		case n < 0:
			n = len(line)
		case n == 0:
			_, n = utf8.DecodeRuneInString(line)
		}
		if t := strings.TrimSpace(line[:n]); t != "" {
			all = append(all, t)
		}
		line = line[n:]
	}
	slices.Sort(all)
	return all
}

// alike says how much of two lines agrees: 1 is all, and 0 also what is too little.
func alike(a, b string, x, y []string) float64 {
	if strings.TrimSpace(a) == strings.TrimSpace(b) {
		return worth(a)
	}
	common := 0
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			common, i, j = common+1, i+1, j+1
		case x[i] < y[j]:
			i++
		default:
			j++
		}
	}
	if part := 2 * float64(common) / float64(max(1, len(x)+len(y))); part > leastLike {
		return part
	}
	return 0
}
