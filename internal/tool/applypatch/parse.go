package applypatch

import (
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	mostPatch = 4 << 20 // bytes
	mostHunks = 1000
)

// kind is what a patch does to a file.
type kind int

const (
	changing kind = iota
	adding
	removing
)

// file is what a patch says about one file.
type file struct {
	line  int // of the patch, counted from 1
	kind  kind
	path  string
	to    string // the new path of a moved file, else ""
	hunks []*hunk
}

// hunk is one passage and what becomes of it.
type hunk struct {
	line    int      // of the patch
	number  int      // in its file, counted from 1
	anchors []string // lines that stand above the passage
	at      int      // where the passage is said to begin, counted from 1; 0 when nothing is said
	counted bool     // the numbers of lines were given, as in a unified diff
	old     int      // how many lines it is said to have
	atEnd   bool     // the passage is the end of the file
	bareEnd bool     // what it leaves has no line end at the end of the file
	lines   []line
}

// line is one line of a hunk.
type line struct {
	op   byte // ' ' stays, '-' goes, '+' comes
	text string
}

// before are the lines that the hunk wants to find.
func (h *hunk) before() []string {
	var all []string
	for _, l := range h.lines {
		if l.op != '+' {
			all = append(all, l.text)
		}
	}
	return all
}

// edges counts the lines at both ends of before that stay.
func (h *hunk) edges() (lead, trail int) {
	lines := h.lines
	for len(lines) > 0 && lines[0].op == ' ' {
		lead, lines = lead+1, lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1].op == ' ' {
		trail, lines = trail+1, lines[:len(lines)-1]
	}
	return lead, trail
}

// problem is what is wrong with a patch, for the model.
type problem struct {
	line int
	text string
}

func (p *problem) String() string { return fmt.Sprintf("Line %d of the patch: %s", p.line, p.text) }

func wrong(line int, format string, args ...any) *problem {
	return &problem{line, fmt.Sprintf(format, args...)}
}

// parser reads the lines of a patch.
type parser struct {
	lines []string
	at    int // the line to be read next, counted from 0
	files []*file
	hunks int
}

// parse reads a patch of either form.
func parse(patch string) ([]*file, *problem) {
	if len(patch) > mostPatch {
		return nil, wrong(1, "it has %d bytes, more than %d: make several patches of it.", len(patch), mostPatch)
	}
	p := &parser{lines: tool.Lines(patch)}
	p.skipFence()
	read := p.unified
	if p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == begin {
		read = p.envelope
	}
	if bad := read(); bad != nil {
		return nil, bad
	}
	if len(p.files) == 0 {
		return nil, wrong(1, "it names no file. Begin with `%s` and a line such as `%sname`, or give a unified diff with `--- a/name` and `+++ b/name`.", begin, updateFile)
	}
	return p.files, nil
}

// skipFence leaves out blank lines before the patch and a Markdown fence around it.
func (p *parser) skipFence() {
	for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
	if p.at == len(p.lines) || !strings.HasPrefix(p.lines[p.at], "```") {
		return
	}
	p.at++
	last := len(p.lines) - 1
	for last > p.at && strings.TrimSpace(p.lines[last]) == "" {
		last--
	}
	if strings.TrimSpace(p.lines[last]) == "```" {
		p.lines = p.lines[:last]
	}
}

// more tells whether a line is left.
func (p *parser) more() bool { return p.at < len(p.lines) }

// number is the number, for people, of the line to be read next.
func (p *parser) number() int { return p.at + 1 }

// add begins a file.
func (p *parser) add(f *file) *problem {
	if strings.TrimSpace(f.path) == "" {
		return wrong(f.line, "the file has no name.")
	}
	p.files = append(p.files, f)
	return nil
}

// addHunk begins a hunk of a file.
func (p *parser) addHunk(f *file, h *hunk) *problem {
	if p.hunks++; p.hunks > mostHunks {
		return wrong(h.line, "it has more than %d hunks: make several patches of it.", mostHunks)
	}
	f.hunks = append(f.hunks, h)
	h.number = len(f.hunks)
	return nil
}

// take reads one line of a hunk and tells whether it was one. A line that is quite
// empty is a blank one that stays, as many write it.
func (h *hunk) take(text string) bool {
	switch {
	case text == "":
		h.lines = append(h.lines, line{' ', ""})
	case text[0] == ' ' || text[0] == '-' || text[0] == '+':
		h.lines = append(h.lines, line{text[0], text[1:]})
	case text[0] == '\\':
		if n := len(h.lines); n > 0 && h.lines[n-1].op != '-' {
			h.bareEnd = true
		}
	default:
		return false
	}
	return true
}

// trim drops the empty lines at the end that belong to the patch and not to the file:
// all but those that the hunk's own count asks for. raw are the hunk's lines as they
// stand in the patch.
func (h *hunk) trim(raw []string) {
	for i := len(raw) - 1; i >= 0 && raw[i] == ""; i-- {
		if h.counted && len(h.before()) <= h.old {
			return
		}
		h.lines = h.lines[:len(h.lines)-1]
	}
}

// changes tells whether the hunk does anything.
func (h *hunk) changes() bool {
	for _, l := range h.lines {
		if l.op != ' ' {
			return true
		}
	}
	return false
}
