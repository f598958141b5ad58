package search_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/search"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "",
		"Ledger-close, ledger!":  "ledger close",
		"runs_daily v2.10":       "runs daily v2 10",
		"Café cafe\u0301 naïve":  "cafe naive",
		"Größe":                  "gro_000dfe",
		"東京":                     "_06771 _04eac",
		"ﬁx ①":                   "fix 1",
		"\x00\xff \u202e…":       "",
		strings.Repeat("a", 100): strings.Repeat("a", 40),
	} {
		if got := strings.Join(search.Words(text), " "); got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
}

// The short ways of the common letters decide as Unicode's tables do.
func TestWhatIsALetterIsUnicodes(t *testing.T) {
	t.Parallel()
	for r := range rune(0x2e80) {
		if got, want := len(search.Words(string(r))) > 0, unicode.IsLetter(r) || unicode.IsNumber(r); r < utf8.RuneSelf && got != want {
			t.Errorf("%q is a letter: %v, want %v", r, got, want)
		}
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			t.Errorf("%q is an ideograph", r)
		}
	}
}

func TestBeginnings(t *testing.T) {
	t.Parallel()
	if got := strings.Join(search.Beginnings([]string{"ledger", "_06771", "a", "let"}), " "); got != "b:l b:le b:_06771 b:a" {
		t.Errorf("the beginnings are %q", got)
	}
	for word, want := range map[string]bool{"le": true, "led": false, "_06771": true, "a_000df": true, "a_000dfb": false} {
		if search.Short(word) != want {
			t.Errorf("%q is short: %v", word, !want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("Größe ﬁx 東京 a_b", "größ")
	f.Fuzz(func(t *testing.T, text, query string) {
		words := search.Words(text)
		for _, w := range words {
			if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || len(w) > 300 {
				t.Fatalf("%q has the word %q", text, w)
			}
		}
		q := search.ParseQuery(query)
		if s := q.Score(text, text, text, text); s <= 0 || s > 1 {
			t.Fatalf("%q scores %v in %q", query, s, text)
		}
		if !utf8.ValidString(q.Snippet(text)) && utf8.ValidString(text) {
			t.Fatalf("the snippet of %q in %q is no text", query, text)
		}
	})
}
