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

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// ideograph tells whether a script that writes no blanks makes each sign a word.
func ideograph(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

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
	if plain(word) {
		return word[:min(len(word), maxWord)]
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

// plain tells whether a word is written as it stands.
func plain(word string) bool {
	for i := range len(word) {
		if c := word[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Query is what a query asks for: words that must all be there.
type Query struct {
	Words []string
	// Open says that the last word may be the beginning of one.
	Open bool
}

// maxWords bounds the words of a query.
const maxWords = 32

// ParseQuery reads a query. Whatever is no letter or digit only separates words: there
// is no syntax that could be wrong.
func ParseQuery(text string) Query {
	words := Words(text)
	if len(words) > maxWords {
		words = words[:maxWords]
	}
	if len(words) == 0 {
		return Query{}
	}
	return Query{Words: words, Open: true}
}

// Fits tells whether a word of a document is what the query's i-th word asks for.
func (q Query) Fits(i int, word string) bool {
	if q.Open && i == len(q.Words)-1 {
		return strings.HasPrefix(word, q.Words[i])
	}
	return word == q.Words[i]
}
