package edit

import (
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	mostPlaces  = 1000 // that are looked for
	shownPlaces = 10   // that are named
	shownLines  = 24   // of a passage that is shown
	around      = 2    // lines before and after it
	lineSize    = 500  // characters of a shown line
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
