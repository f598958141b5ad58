package tool

import (
	"fmt"
	"strings"
)

const (
	mostDiffLines = 40
	diffLineSize  = 300 // characters
)

// differ writes the lines of a difference; what was wanted comes before what stands
// there, as in every diff.
type differ struct {
	out   strings.Builder
	minus []string
	plus  []string
	lines int
}

// diff shows wanted lines against the lines of have that pairs gives them.
func diff(want, have []string, pairs []int) string {
	d := &differ{}
	next := -1 // the line of have that follows the last pair
	for i, j := range pairs {
		if j < 0 {
			d.minus = append(d.minus, want[i])
			continue
		}
		for ; next >= 0 && next < j; next++ {
			d.plus = append(d.plus, have[next])
		}
		next = j + 1
		if want[i] == have[j] {
			d.flush()
			d.line("  ", want[i])
			continue
		}
		d.minus = append(d.minus, want[i])
		d.plus = append(d.plus, have[j])
	}
	d.flush()
	if more := d.lines - mostDiffLines; more > 0 {
		fmt.Fprintf(&d.out, "[… %s more]\n", Count(more, "line", "lines"))
	}
	return d.out.String()
}

func (d *differ) flush() {
	for _, l := range d.minus {
		d.line("- ", l)
	}
	for _, l := range d.plus {
		d.line("+ ", l)
	}
	d.minus, d.plus = nil, nil
}

func (d *differ) line(mark, text string) {
	if d.lines++; d.lines <= mostDiffLines {
		d.out.WriteString(mark + Shorten(text, diffLineSize) + "\n")
	}
}
