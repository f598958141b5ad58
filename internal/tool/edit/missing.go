package edit

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/tool"
)

var numbered = regexp.MustCompile(`(?m)\A\s*\d+\t`)

// missing says that old_text is not there, and what nearly fits. The work is linear in
// the file.
func missing(text string, a arguments) tool.Result {
	if numbered.MatchString(a.OldText) {
		return tool.Fail("`old_text` is not in %s. It begins with a line number, as read shows it: leave the numbers and the tab behind them out.", a.Path)
	}
	if strings.TrimSpace(a.OldText) == "" {
		return tool.Fail("`old_text` is not in %s. It is blank: give some text around the place to change.", a.Path)
	}
	have := tool.Lines(text)
	for _, s := range slips {
		if at, lines, ok := s.find(text, a.OldText); ok {
			return tool.Fail("`old_text` is not in %s exactly as given. At line %d %s:\n%s", a.Path, at, s.told(have[at-1:], a.OldText), passage(have, at-1, lines))
		}
	}
	if p, ok := tool.Nearest(have, tool.Lines(a.OldText)); ok {
		return tool.Fail("`old_text` is not in %s. The nearest passage begins at line %d; %d of %s agree. `-` is what you gave, `+` what stands there:\n%s",
			a.Path, p.Line, p.Same, tool.Count(p.Wanted, "line", "lines"), p.Diff)
	}
	return tool.Fail("`old_text` is not in %s, and nothing there is near it. Read the file again: it may have changed.", a.Path)
}

// slip is a way in which a text is usually given a little wrong.
type slip struct {
	says string
	old  func(string) string // the text that was perhaps meant
	form func(string) string // what both texts look like without the difference; keeps the lines
	word bool                // only whole words count, since the form has lost what stood around them
}

// slips are tried in this order.
var slips = []slip{
	{says: "it stands with other line ends (`\\r\\n` or `\\n`)", old: same, form: same},
	{says: "it stands, but with real line ends, tabs or quotes where you wrote `\\n`, `\\t` or `\\\"` as two characters", old: unescape.Replace, form: same},
	{says: "it stands, but with `\\n` or `\\t` as two characters where you wrote a line end or a tab", old: escape.Replace, form: same},
	{says: "it stands with other quotes, dashes or blanks: the file has typographic ones or you gave them", old: same, form: plain.Replace},
	{says: "the same words stand with other blanks", old: strings.TrimSpace, form: squeezed, word: true},
	{says: "it stands in another letter case", old: same, form: strings.ToLower},
}

func same(s string) string { return s }

var (
	unescape = strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`)
	escape   = strings.NewReplacer("\n", `\n`, "\t", `\t`)
	plain    = strings.NewReplacer(
		"\u2018", "'", "\u2019", "'", "\u201a", "'", "\u201b", "'", "\u201c", `"`, "\u201d", `"`, "\u201e", `"`, "\u00ab", `"`, "\u00bb", `"`,
		"\u2010", "-", "\u2011", "-", "\u2012", "-", "\u2013", "-", "\u2014", "-", "\u2212", "-", "\u00a0", " ", "\u202f", " ", "\u2026", "...",
	)
)

// squeezed leaves one blank between words and none around lines.
func squeezed(s string) string {
	lines := tool.Lines(s)
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

// find tells the line, counted from 1, where the text stands but for the slip, and how
// many lines it has there.
func (s slip) find(text, old string) (at, lines int, ok bool) {
	unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	want := s.form(s.old(unix(old)))
	if strings.TrimSpace(want) == "" {
		return 0, 0, false
	}
	have := s.form(unix(text))
	i := strings.Index(have, want)
	for s.word && i >= 0 && !whole(have, i, len(want)) {
		next := strings.Index(have[i+1:], want)
		if next < 0 {
			return 0, 0, false
		}
		i += 1 + next
	}
	if i < 0 {
		return 0, 0, false
	}
	return lineAt(have, i), 1 + strings.Count(strings.TrimSuffix(want, "\n"), "\n"), true
}

// whole tells whether no word is cut at the ends of a passage.
func whole(s string, at, n int) bool {
	wordly := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	cut := func(before, after string) bool {
		l, _ := utf8.DecodeLastRuneInString(before)
		r, _ := utf8.DecodeRuneInString(after)
		return wordly(l) && wordly(r)
	}
	return !cut(s[:at], s[at:]) && !cut(s[:at+n], s[at+n:])
}

// told says what the slip is, for blanks as exactly as can be.
func (s slip) told(have []string, old string) string {
	if !s.word || len(have) == 0 {
		return s.says
	}
	there, given := indents(have[:min(len(have), 1+strings.Count(old, "\n"))]), indents(tool.Lines(old))
	if there != given && there != "" && given != "" {
		return fmt.Sprintf("%s (the file indents with %s, you did with %s)", s.says, there, given)
	}
	return s.says
}

// indents says what lines are indented with, "" when none is, or not in one way.
func indents(lines []string) string {
	tabs, spaces := false, false
	for _, l := range lines {
		tabs = tabs || strings.HasPrefix(l, "\t")
		spaces = spaces || strings.HasPrefix(l, " ")
	}
	switch {
	case tabs && !spaces:
		return "tabs"
	case spaces && !tabs:
		return "spaces"
	}
	return ""
}

// passage quotes lines as they are, without numbers, ready to be copied.
func passage(lines []string, at, n int) string {
	var b strings.Builder
	for _, l := range lines[at:min(at+n, len(lines), at+shownLines)] {
		b.WriteString(tool.Shorten(l, lineSize) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
