package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark and EndMark enclose found words in snippets. They are no markup of anything, and
// what has them already loses them.
const (
	Mark    = "\u27e6"
	EndMark = "\u27e7"
)

// Bounds of a snippet, in bytes of the text.
const (
	snippetBefore = 60
	snippetLength = 220
)

// Snippet is a passage of the first text in which a word of the query stands, on one
// line, with the found words between the marks; "" when none of the texts has one.
func (q Query) Snippet(texts ...string) string {
	for _, text := range texts {
		for s := range spots(text) {
			if q.found(s.word) {
				return q.passage(text, s.start)
			}
		}
	}
	return ""
}

func (q Query) found(word string) bool {
	for i := range q.Words {
		if q.fits(i, word, false) {
			return true
		}
	}
	return false
}

// passage cuts out what stands around a place.
func (q Query) passage(text string, at int) string {
	from := boundary(text, max(0, at-snippetBefore))
	to := boundary(text, min(len(text), from+snippetLength))
	part := text[from:to]
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	last := 0
	for s := range spots(part) {
		if q.found(s.word) {
			b.WriteString(line(part[last:s.start]) + Mark + part[s.start:s.end] + EndMark)
			last = s.end
		}
	}
	b.WriteString(line(part[last:]))
	if to < len(text) {
		b.WriteString("…")
	}
	return strings.TrimSpace(b.String())
}

// boundary moves a place forward to the next beginning of a word or blank.
func boundary(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	for i, r := range text[at:] {
		if i > 30 || !inWord(r) || at == 0 {
			return at + i
		}
	}
	return len(text)
}

// line turns blanks and what cannot be shown into single blanks.
func line(s string) string {
	var b strings.Builder
	blank := false
	for _, r := range s {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError || string(r) == Mark || string(r) == EndMark {
			blank = true
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(r)
	}
	if blank {
		b.WriteByte(' ')
	}
	return b.String()
}
