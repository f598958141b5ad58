package near_test

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/near"
)

func TestWord(t *testing.T) {
	t.Parallel()
	known := []string{"path", "offset", "limit", "openai", "anthropic", "x"}
	for word, want := range map[string]string{
		"pth":        "path",
		"paht":       "path",
		"Path":       "path",
		"offest":     "offset",
		"limits":     "limit",
		"open_ai":    "openai",
		"antropic":   "anthropic",
		"":           "",
		"zzz":        "",
		"completely": "",
		"y":          "", // another one-letter word is no slip
	} {
		if got := near.Word(word, known); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
	if got := near.Word(strings.Repeat("a", 1<<20), known); got != "" {
		t.Errorf("a huge word is near %q", got)
	}
}

func TestHintAndList(t *testing.T) {
	t.Parallel()
	if got, want := near.Hint("pth", []string{"path"}), ` Did you mean "path"?`; got != want {
		t.Errorf("Hint = %q, want %q", got, want)
	}
	if got := near.Hint("zzz", []string{"path"}); got != "" {
		t.Errorf("Hint for nothing near = %q", got)
	}
	for want, words := range map[string][]string{"nothing": nil, "a": {"a"}, "a, b and c": {"c", "a", "b"}} {
		if got := near.List(words); got != want {
			t.Errorf("List(%v) = %q, want %q", words, got, want)
		}
	}
}
