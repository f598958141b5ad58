package chat

import (
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
)

func TestNothingRewritesTheScreen(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\nlines":                "plain\nlines",
		"\x1b[2J\x1b]0;title\x07text": "[2J]0;titletext",
		"\u202eright to left\u202c":   "right to left",
		"\u2066isolated\u2069":        "isolated",
		"a\u200eb\u200fc\u061cd":      "abcd",
		"one\u2028two":                "onetwo",
		"c1 \u009b31m":                "c1 31m",
		"a\tb\n\tc":                   "a   b\n    c",
		"win\r\nunix":                 "win\nunix",
		"back\b\rspace":               "backspace",
		"tag\U000e0041":               "tag",
		"kept: é 日本 👩‍💻":              "kept: é 日本 👩‍💻",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := oneLine("a\nb\x1b[2J\t c\u202e", 20); got != "a b [2J c" {
		t.Errorf("%q", got)
	}
}

func TestLinesKeepTheirWidth(t *testing.T) {
	t.Parallel()
	texts := []string{
		"a short line", "a line that is a good deal longer than the screen", "日本語の文章はとても長いので折り返す必要があります",
		"👩‍💻👩‍💻👩‍💻👩‍💻👩‍💻👩‍💻 emoji", "averyveryverylongwordwithoutanyblankinit", "    indented code()", "",
	}
	for _, text := range texts {
		for _, width := range []int{2, 7, 12, 40} {
			lines := wrap(text, width)
			for _, line := range lines {
				if w := lipgloss.Width(line); w > max(width, 2) {
					t.Errorf("width %d: %q has %d", width, line, w)
				}
			}
			if lipgloss.Width(fit(text, width)) > width {
				t.Errorf("fit %q to %d: %q", text, width, fit(text, width))
			}
			kept := strings.Join(lines, "")
			if strings.ReplaceAll(kept, " ", "") != strings.ReplaceAll(text, " ", "") {
				t.Errorf("width %d: %q became %q", width, text, lines)
			}
		}
	}
	if got := wrap("    indented code()", 40); got[0] != "    indented code()" {
		t.Errorf("%q", got)
	}
}

func TestHowLong(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		30 * time.Millisecond: "30 ms", 1500 * time.Millisecond: "1.5 s", 83 * time.Second: "1m23s", 2 * time.Hour: "2h00m",
	} {
		if got := took(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	if got := clock(-time.Second); got != "0s" {
		t.Errorf("%s", got)
	}
}
