package search

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord bounds a word, in runes: what is longer is cut, in documents and queries alike.
const maxWord = 40

// spot is a word and where it stands in the text that it was cut from.
type spot struct {
	word       string
	start, end int // bytes
}

// Words cuts a text into its different words, in the order of their first appearance:
// runs of letters and digits, in lower case and without accents. Each ideograph is a
// word. Words are written in [a-z0-9_]: other letters as _ and five hexadecimal digits,
// so that the beginning of a word stays the beginning of what is written.
func Words(texts ...string) []string {
	var all []string
	seen := map[string]bool{}
	for _, text := range texts {
		for s := range spots(text) {
			if !seen[s.word] {
				seen[s.word] = true
				all = append(all, s.word)
			}
		}
	}
	return all
}

// spots goes through the words of a text.
func spots(text string) func(yield func(spot) bool) {
	return func(yield func(spot) bool) {
		for at := 0; at < len(text); {
			r, n := utf8.DecodeRuneInString(text[at:])
			if !inWord(r) {
				at += n
				continue
			}
			end := at + n
			if !ideograph(r) {
				end = wordEnd(text, at)
			}
			if w := fold(text[at:end]); w != "" && !yield(spot{w, at, end}) {
				return
			}
			at = end
		}
	}
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf { // most are
		return '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// firstIdeograph is below all signs of the scripts that ideograph knows.
const firstIdeograph = 0x2e80

// ideograph tells whether a script that writes no blanks makes each sign a word.
func ideograph(r rune) bool {
	return r >= firstIdeograph && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

func wordEnd(text string, at int) int {
	for i, r := range text[at:] {
		if !inWord(r) && !unicode.IsMark(r) || ideograph(r) {
			return at + i
		}
	}
	return len(text)
}

// fold writes a word as the index has it.
func fold(word string) string {
	if ascii(word) { // lower-casing copies nothing that is lower already
		return strings.ToLower(word[:min(len(word), maxWord)])
	}
	var b strings.Builder
	n := 0
	for _, r := range norm.NFKD.String(word) {
		if !inWord(r) { // accents, and what the normal form puts between
			continue
		}
		if n++; n > maxWord {
			break
		}
		switch r = unicode.ToLower(r); {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_%05x", r)
		}
	}
	return b.String()
}

// ascii tells whether a word is written as it stands, but for its case.
func ascii(word string) bool {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wide is how a letter beyond ASCII is written: so many bytes.
const wide = 6

// letters are the ends of the first letters of a written word.
func letters(word string, most int) []int {
	var ends []int
	for at := 0; at < len(word) && len(ends) < most; {
		if word[at] == '_' {
			at += wide
		} else {
			at++
		}
		ends = append(ends, min(at, len(word)))
	}
	return ends
}

// short is how many letters a beginning has that is looked for in names and labels alone:
// almost every text has a word that begins so.
const short = 2

// Beginnings are the short beginnings of words, written so that no word is like them.
func Beginnings(words []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, w := range words {
		for _, end := range letters(w, short) {
			if b := Beginning(w[:end]); !seen[b] {
				seen[b] = true
				all = append(all, b)
			}
		}
	}
	return all
}

// Beginning is how a short beginning is written.
func Beginning(w string) string { return "b:" + w }

// Query is what a query asks for: words that must all be there. The last one may be the
// beginning of a word; one of up to two letters only of a name or label.
type Query struct{ Words []string }

// maxWords bounds the words of a query.
const maxWords = 32

// ParseQuery reads a query. Whatever is no letter or digit only separates words: there
// is no syntax that could be wrong.
func ParseQuery(text string) Query {
	words := Words(text)
	return Query{words[:min(len(words), maxWords)]}
}

// Short tells whether a word is too short to be the beginning of any.
func Short(word string) bool { return len(letters(word, short+1)) <= short }

// Open tells whether the query's i-th word may be the beginning of one.
func (q Query) Open(i int) bool { return i == len(q.Words)-1 }

// fits tells whether a word of a document is what the query's i-th word asks for. title
// says that it stands in a name or label.
func (q Query) fits(i int, word string, title bool) bool {
	if q.Open(i) && (title || !Short(q.Words[i])) {
		return strings.HasPrefix(word, q.Words[i])
	}
	return word == q.Words[i]
}
