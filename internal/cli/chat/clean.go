package chat

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
)

// tabStop is how many columns a tab leads on to.
const tabStop = 4

// hidden says whether a character rewrites the screen instead of standing on it:
// controls, marks that turn the direction of text, and other ends of a line.
func hidden(r rune) bool {
	switch {
	case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
		r == 0x200e, r == 0x200f, r == 0x061c, r == 0x2028, r == 0x2029, r == 0xfeff:
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff // tags, which carry text that nobody sees
}

// clean leaves out what could rewrite the screen, and keeps line ends. Tabs become
// blanks, since how wide one is depends on where it stands.
func clean(s string) string {
	if plainText(s) {
		return s
	}
	var b strings.Builder
	column := 0
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case r == '\n':
			b.WriteRune(r)
			column = 0
		case r == '\t':
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
		case !hidden(r):
			b.WriteRune(r)
			column++
		}
	}
	return b.String()
}

// plainText says whether a text is printable ASCII and line ends alone.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c < 0x20 || c > 0x7e) {
			return false
		}
	}
	return true
}

// oneLine is the beginning of a text in one line of at most so many characters.
func oneLine(s string, most int) string {
	if len(s) > 8*most {
		s = s[:8*most] // the rest would be cut off anyway
	}
	s = strings.Map(func(r rune) rune {
		if hidden(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// wrap breaks clean text into lines that are at most so many columns wide, two at least.
func wrap(s string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		if len(line) <= width && plainText(line) {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, strings.Split(lipgloss.Wrap(line, max(width, 2), ""), "\n")...)
	}
	return lines
}

// fit cuts a line of clean text to so many columns.
func fit(s string, width int) string {
	if lipgloss.Width(s) <= width {
		return s
	}
	if width < 2 {
		return strings.Repeat("…", max(width, 0))
	}
	return lipgloss.NewStyle().MaxWidth(width-1).Render(s) + "…"
}

// join puts a dot between the parts that say something.
func join(parts ...string) string {
	var kept []string
	for _, s := range parts {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, " · ")
}

// took is how long something took, in words.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return clock(d)
}

// clock is how long something has been going on, to the second.
func clock(d time.Duration) string {
	d = max(d, 0)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%dh%02dm", h, m)
	case m > 0:
		return fmt.Sprintf("%dm%02ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}
