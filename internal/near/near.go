// Package near finds the word that somebody probably meant, for the end of an
// error message. It promises to stay silent when nothing is close: a wrong hint
// costs more than none. It is pure and safe for concurrent use.
package near

import (
	"slices"
	"strings"
)

// longest word that is compared, in runes: the work grows with its square.
const longest = 64

// Word gives the known word that is closest to word, or "" when none is close
// enough: one slip (a wrong, missing, added or swapped letter) per three
// letters, letter case for free. Of equally close words the first one wins.
func Word(word string, known []string) string {
	w := []rune(strings.ToLower(word))
	if len(w) == 0 || len(w) > longest {
		return ""
	}
	best, found := max(1, len(w)/3)+1, ""
	for _, k := range known {
		r := []rune(strings.ToLower(k))
		if len(r) == 0 || len(r) > longest || len(r)-len(w) >= best || len(w)-len(r) >= best {
			continue
		}
		if d := slips(w, r); d < best && d < len(r) {
			best, found = d, k
		}
	}
	return found
}

// Hint is ` Did you mean "x"?` with a leading blank, or "" when nothing is close.
func Hint(word string, known []string) string {
	if w := Word(word, known); w != "" {
		return ` Did you mean "` + w + `"?`
	}
	return ""
}

// slips counts the single-letter changes and swaps of neighbours that turn a
// into b.
func slips(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// List writes words for people: `a, b and c`, sorted; "nothing" for none.
func List(words []string) string {
	s := slices.Sorted(slices.Values(words))
	switch len(s) {
	case 0:
		return "nothing"
	case 1:
		return s[0]
	}
	return strings.Join(s[:len(s)-1], ", ") + " and " + s[len(s)-1]
}
