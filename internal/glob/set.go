package glob

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// set handles `[…]`: a first `!` or `^` turns it round, a first `]` is itself,
// and a slash is never in it.
func (w *writer) set() error {
	body, n, err := setBody(w.in[w.at:])
	if err != nil {
		return err
	}
	not := body[0] == '!' || body[0] == '^'
	if not {
		body = body[1:]
	}
	var b strings.Builder
	for body != "" {
		lo, rest := member(body)
		if hi, after, ok := upper(rest); ok {
			b.WriteString(quote(lo) + "-" + quote(hi))
			body = after
			continue
		}
		b.WriteString(quote(lo))
		body = rest
	}
	if not {
		w.put(n, "[^/"+b.String()+"]")
		return nil
	}
	w.put(n, "(?:["+b.String()+"])")
	return nil
}

// setBody gives what stands between the brackets, and the bytes it all takes.
func setBody(s string) (body string, n int, err error) {
	start := 1
	if strings.HasPrefix(s[1:], "!") || strings.HasPrefix(s[1:], "^") {
		start = 2
	}
	for i := start; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '/':
			return "", 0, fmt.Errorf("a set [...] cannot hold a slash")
		case s[i] == ']' && i > start:
			return s[1:i], i + 1, nil
		}
	}
	return "", 0, fmt.Errorf("a [ has no ]")
}

// member takes one character, which `\` may stand before.
func member(s string) (r, rest string) {
	if s[0] == '\\' && len(s) > 1 {
		s = s[1:]
	}
	_, size := firstRune(s)
	return s[:size], s[size:]
}

// upper takes the `-z` of a range `a-z`; a last `-` is itself.
func upper(s string) (hi, rest string, ok bool) {
	if len(s) < 2 || s[0] != '-' {
		return "", s, false
	}
	hi, rest = member(s[1:])
	return hi, rest, true
}

// quote writes one character as a member of a regular expression's set.
func quote(r string) string {
	if r == "-" || r == "^" || r == "[" || r == "]" || r == "&" || r == "~" {
		return `\` + r
	}
	return regexp.QuoteMeta(r)
}

func firstRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	return r, max(size, 1)
}
