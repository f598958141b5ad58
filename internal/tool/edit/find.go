package edit

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	mostPlaces  = 1000 // that are looked for
	shownPlaces = 10   // that are named
	shownLines  = 24   // of a passage that is shown
	around      = 2    // lines before and after it
	lineSize    = 500  // characters of a shown line

	mostCompared = 20_000_000 // pairs of lines, in the search for what nearly fits
)

// places finds where old begins, also where occurrences overlap: text that fits
// in two ways is not unique.
func places(text, old string) []int {
	var all []int
	for at := 0; len(all) < mostPlaces; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			break
		}
		all = append(all, at+i)
		at += i + 1
	}
	return all
}

func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// lineList names the lines of some places.
func lineList(text string, at []int) string {
	var lines []string
	for _, p := range at[:min(len(at), shownPlaces)] {
		if n := fmt.Sprint(lineAt(text, p)); len(lines) == 0 || lines[len(lines)-1] != n {
			lines = append(lines, n)
		}
	}
	s := "line "
	if len(lines) > 1 {
		s = "lines "
	}
	s += strings.Join(lines, ", ")
	if len(at) > shownPlaces {
		s += " and more"
	}
	return s
}

// snippet shows the lines around a passage that begins at line first, counted
// from 1, and goes over some line ends.
func snippet(text string, first, ends int) string {
	lines := tool.Lines(text)
	from, to := max(first-1-around, 0), min(first+ends+around, len(lines))
	var b strings.Builder
	for i := from; i < to; i++ {
		if i-from == shownLines {
			fmt.Fprintf(&b, "[… to line %d]\n", to)
			break
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, tool.Shorten(lines[i], lineSize))
	}
	return b.String()
}

var numbered = regexp.MustCompile(`(?m)\A\s*\d+\t`)

// missing says that old_text is not there, and what nearly fits.
func missing(text string, a arguments) tool.Result {
	if numbered.MatchString(a.OldText) {
		return tool.Fail("`old_text` is not in %s. It begins with a line number, as read shows it: leave the numbers and the tab behind them out.", a.Path)
	}
	have, want := tool.Lines(text), trimmed(a.OldText)
	if len(want) == 0 {
		return tool.Fail("`old_text` is not in %s. It is blank: give some text around the place to change.", a.Path)
	}
	at, same := nearest(have, want) // want may be longer than what was compared
	switch {
	case same == len(want):
		return tool.Fail("`old_text` is not in %s exactly as given. At line %d the same words stand with other blanks:\n%s", a.Path, at+1, passage(have, at, len(want)))
	case same > 0 && same >= len(want)/2:
		return tool.Fail("`old_text` is not in %s. The nearest passage begins at line %d; %d of %s agree:\n%s",
			a.Path, at+1, same, tool.Count(len(want), "line", "lines"), passage(have, at, len(want)))
	}
	return tool.Fail("`old_text` is not in %s, and nothing there is near it. Read the file again: it may have changed.", a.Path)
}

// trimmed gives the lines without the blanks around them and without empty lines
// at both ends; at most 200 of them.
func trimmed(text string) []string {
	lines := tool.Lines(strings.TrimSpace(text))
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return lines[:min(len(lines), 200)]
}

// nearest finds the window of have in which most lines agree with want, blanks
// aside, and how many do. Empty lines alone do not count.
func nearest(have, want []string) (at, same int) {
	want = want[:min(len(want), max(1, mostCompared/max(1, len(have))))]
	bare := make([]string, len(have))
	for i, l := range have {
		bare[i] = strings.TrimSpace(l)
	}
	for i := range bare {
		n, words := 0, false
		for j := 0; j < len(want) && i+j < len(bare); j++ {
			if bare[i+j] == want[j] {
				n++
				words = words || want[j] != ""
			}
		}
		if words && n > same {
			at, same = i, n
		}
	}
	return at, same
}

// passage quotes lines as they are, without numbers, ready to be copied.
func passage(lines []string, at, n int) string {
	to := min(at+n, len(lines), at+shownLines)
	return strings.Join(lines[at:to], "\n")
}
