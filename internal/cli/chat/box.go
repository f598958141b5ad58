package chat

import (
	"slices"
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
)

// box is the text that is being written, and the place in it where writing goes
// on. It is a value: a copy shares nothing that changes.
type box struct {
	cells []string // what a person takes for one character each; "\n" ends a line
	at    int      // before which cell
}

// cells splits clean text into what a person takes for characters: a letter with
// its marks, an emoji with what modifies it, a flag.
func cells(s string) []string {
	if plainText(s) {
		return strings.Split(s, "")
	}
	var all []string
	joined, flag := false, false
	for _, r := range s {
		indicator := r >= 0x1f1e6 && r <= 0x1f1ff
		modifies := unicode.In(r, unicode.Mn, unicode.Me) || r == 0x200d || r >= 0xfe00 && r <= 0xfe0f || r >= 0x1f3fb && r <= 0x1f3ff
		if n := len(all); n > 0 && all[n-1] != "\n" && (modifies || joined || flag && indicator) {
			all[n-1] += string(r)
			flag = false
		} else {
			all = append(all, string(r))
			flag = indicator
		}
		joined = r == 0x200d
	}
	return all
}

func (b box) text() string { return strings.Join(b.cells, "") }

func (b box) empty() bool { return len(b.cells) == 0 }

// filled is a box with a text, at whose end writing goes on.
func filled(s string) box {
	c := cells(clean(s))
	return box{c, len(c)}
}

// insert writes a text. A mark joins the character before it.
func (b box) insert(s string) box {
	s = clean(s)
	before, after := b.cells[:b.at], b.cells[b.at:]
	if plainText(s) {
		return box{slices.Concat(before, cells(s), after), b.at + len(s)}
	}
	front := cells(strings.Join(before, "") + s)
	return box{slices.Concat(front, after), len(front)}
}

// cut takes out what lies between two places.
func (b box) cut(from, to int) box {
	if from >= to {
		return b
	}
	return box{slices.Concat(b.cells[:from], b.cells[to:]), from}
}

func (b box) moved(to int) box { return box{b.cells, min(max(to, 0), len(b.cells))} }

// lineStart and lineEnd are the ends of the line that is written in.
func (b box) lineStart() int {
	i := b.at
	for i > 0 && b.cells[i-1] != "\n" {
		i--
	}
	return i
}

func (b box) lineEnd() int {
	i := b.at
	for i < len(b.cells) && b.cells[i] != "\n" {
		i++
	}
	return i
}

func blank(cell string) bool { return strings.TrimSpace(cell) == "" }

// wordLeft and wordRight are the next ends of words.
func (b box) wordLeft() int {
	i := b.at
	for i > 0 && blank(b.cells[i-1]) {
		i--
	}
	for i > 0 && !blank(b.cells[i-1]) {
		i--
	}
	return i
}

func (b box) wordRight() int {
	i := b.at
	for i < len(b.cells) && blank(b.cells[i]) {
		i++
	}
	for i < len(b.cells) && !blank(b.cells[i]) {
		i++
	}
	return i
}

// columns is how wide cells are on the screen.
func columns(cells ...string) int {
	n := 0
	for _, c := range cells {
		if len(c) == 1 {
			n++
		} else {
			n += lipgloss.Width(c)
		}
	}
	return n
}

// row is one line on the screen: the cells from one place to another.
type row struct{ from, to int }

// rows breaks the text into lines of the screen, at blanks where there are some.
// The place behind the last cell of a full line is on the next one.
func (b box) rows(width int) []row {
	var rows []row
	from, used, breakAt := 0, 0, -1
	for i, c := range b.cells {
		if c == "\n" {
			rows = append(rows, row{from, i})
			from, used, breakAt = i+1, 0, -1
			continue
		}
		w := columns(c)
		if used+w > width && i > from {
			end := i
			if breakAt > from {
				end = breakAt
			}
			rows = append(rows, row{from, end})
			from, breakAt = end, -1
			used = columns(b.cells[from:i]...)
		}
		used += w
		if c == " " {
			breakAt = i + 1
		}
	}
	rows = append(rows, row{from, len(b.cells)})
	if used >= width {
		rows = append(rows, row{len(b.cells), len(b.cells)})
	}
	return rows
}

// cursor is where writing goes on: which row, and which column of it.
func (b box) cursor(rows []row) (y, x int) {
	for i, r := range slices.Backward(rows) {
		if b.at >= r.from {
			return i, columns(b.cells[r.from:b.at]...)
		}
	}
	return 0, 0
}

// vertical moves by rows of the screen and keeps the column where it can. ok is
// false at the edge.
func (b box) vertical(width, by int) (moved box, ok bool) {
	rows := b.rows(width)
	y, x := b.cursor(rows)
	if y+by < 0 || y+by >= len(rows) {
		return b, false
	}
	r := rows[y+by]
	at, used := r.from, 0
	for at < r.to && used < x {
		used += columns(b.cells[at])
		at++
	}
	if at == r.to && y+by+1 < len(rows) && rows[y+by+1].from == at && at > r.from {
		at-- // the place behind a broken line is on the next one
	}
	return b.moved(at), true
}
