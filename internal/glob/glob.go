// Package glob matches slash-separated paths against shell patterns. A match
// takes time linear in the path, whatever the pattern, so that patterns may come
// from a model or from files in a workspace. It is pure; a Pattern is safe for
// concurrent use.
//
// `?` is one character and `*` any number of them, neither crosses a slash;
// `[a-z]` and `[!a-z]` are sets, in which no slash is written; `**` as a whole path segment is any number of
// segments, also none; `\` takes the next character as it is. With braces,
// `{a,b}` is either, and may be nested.
package glob

import (
	"fmt"
	"regexp"
	"strings"
)

// longest pattern that is compiled, in bytes.
const longest = 4096

// Pattern is a compiled pattern. The zero value matches nothing.
type Pattern struct{ re *regexp.Regexp }

// Options choose the dialect.
type Options struct {
	Braces     bool // {a,b} means either; default: the characters themselves
	IgnoreCase bool // default: letters must agree
}

// Compile reads a pattern. The error is for people and quotes the pattern.
func Compile(pattern string, o Options) (Pattern, error) {
	if len(pattern) > longest {
		return Pattern{}, fmt.Errorf("a pattern of %d bytes is longer than %d", len(pattern), longest)
	}
	w := writer{in: pattern, braces: o.Braces}
	if err := w.all(); err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	flags := "(?s)"
	if o.IgnoreCase {
		flags = "(?si)"
	}
	re, err := regexp.Compile(flags + "^(?:" + w.out.String() + ")$")
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: a set or a range in it is not valid", pattern)
	}
	return Pattern{re}, nil
}

// Match tells whether the whole path fits.
func (p Pattern) Match(path string) bool { return p.re != nil && p.re.MatchString(path) }

// writer turns a pattern into a regular expression, left to right.
type writer struct {
	in     string
	at     int
	out    strings.Builder
	braces bool
	open   int // braces that wait for their end
}

func (w *writer) all() error {
	for w.at < len(w.in) {
		if err := w.next(); err != nil {
			return err
		}
	}
	if w.open > 0 {
		return fmt.Errorf("a { has no }")
	}
	return nil
}

func (w *writer) next() error {
	c := w.in[w.at]
	switch {
	case c == '*':
		w.stars()
	case c == '?':
		w.put(1, "[^/]")
	case c == '[':
		return w.set()
	case c == '\\':
		return w.escaped()
	case c == '{' && w.braces:
		w.open++
		w.put(1, "(?:")
	case c == '}' && w.open > 0:
		w.open--
		w.put(1, ")")
	case c == ',' && w.open > 0:
		w.put(1, "|")
	default:
		w.literal()
	}
	return nil
}

// put writes re for the next n bytes of the pattern.
func (w *writer) put(n int, re string) {
	w.at += n
	w.out.WriteString(re)
}

// literal takes characters up to the next special one.
func (w *writer) literal() {
	rest := w.in[w.at:]
	n := strings.IndexAny(rest[1:], `*?[\{},`) + 1
	if n == 0 {
		n = len(rest)
	}
	w.put(n, regexp.QuoteMeta(rest[:n]))
}

// stars handles `*`, and `**` as a whole segment.
func (w *writer) stars() {
	rest := w.in[w.at:]
	n := len(rest) - len(strings.TrimLeft(rest, "*"))
	whole := n == 2 && (w.at == 0 || w.in[w.at-1] == '/')
	switch {
	case whole && n == len(rest):
		w.put(n, ".*")
	case whole && rest[n] == '/':
		w.put(n+1, "(?:.*/)?")
	default:
		w.put(n, "[^/]*")
	}
}

func (w *writer) escaped() error {
	if w.at+1 >= len(w.in) {
		return fmt.Errorf(`a \ at the end escapes nothing`)
	}
	_, size := firstRune(w.in[w.at+1:])
	w.put(1+size, regexp.QuoteMeta(w.in[w.at+1:w.at+1+size]))
	return nil
}
