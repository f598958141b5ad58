package applypatch

import "strings"

// The lines that give the envelope its form.
const (
	begin      = "*** Begin Patch"
	end        = "*** End Patch"
	addFile    = "*** Add File: "
	deleteFile = "*** Delete File: "
	updateFile = "*** Update File: "
	moveTo     = "*** Move to: "
	endOfFile  = "*** End of File"
)

// envelope reads the form that begins with `*** Begin Patch`.
func (p *parser) envelope() *problem {
	p.at++
	for p.more() {
		text := p.lines[p.at]
		switch {
		case strings.TrimSpace(text) == end:
			return p.nothingBehind()
		case strings.TrimSpace(text) == "":
			p.at++
			continue
		}
		if bad := p.section(text); bad != nil {
			return bad
		}
	}
	return wrong(len(p.lines), "the patch ends without `%s`: it may have been cut off. Send it whole, or in smaller patches.", end)
}

// nothingBehind refuses what follows the end, which would be lost.
func (p *parser) nothingBehind() *problem {
	for p.at++; p.more(); p.at++ {
		if strings.TrimSpace(p.lines[p.at]) != "" {
			return wrong(p.number(), "something follows `%s`: put all files before it, or send a second patch.", end)
		}
	}
	return nil
}

// section reads one file.
func (p *parser) section(text string) *problem {
	f := &file{line: p.number()}
	p.at++
	var is bool
	if f.path, is = strings.CutPrefix(text, addFile); is {
		f.kind = adding
		return p.added(f)
	}
	if f.path, is = strings.CutPrefix(text, deleteFile); is {
		f.kind = removing
		f.path = strings.TrimSpace(f.path)
		return p.add(f)
	}
	if f.path, is = strings.CutPrefix(text, updateFile); is {
		return p.updated(f)
	}
	return wrong(f.line, "%.60q begins no file. What may stand here is `%s`, `%s`, `%s` with a name, or `%s`.",
		text, strings.TrimSpace(addFile), strings.TrimSpace(updateFile), strings.TrimSpace(deleteFile), end)
}

// added reads the lines of a new file.
func (p *parser) added(f *file) *problem {
	f.path = strings.TrimSpace(f.path)
	h := &hunk{line: f.line + 1}
	for ; p.more() && !strings.HasPrefix(p.lines[p.at], "*** "); p.at++ {
		text := p.lines[p.at]
		switch {
		case strings.HasPrefix(text, "+"):
			h.take(text)
		case strings.TrimSpace(text) == "" && p.blankTo("*** "):
		default:
			return wrong(p.number(), "each line of the new file %s must begin with `+`, but this is %.60q.", f.path, text)
		}
	}
	if len(h.lines) > 0 {
		if bad := p.addHunk(f, h); bad != nil {
			return bad
		}
	}
	return p.add(f)
}

// blankTo tells whether only blank lines stand before the next line with a prefix.
func (p *parser) blankTo(prefix string) bool {
	for _, l := range p.lines[p.at:] {
		if strings.TrimSpace(l) != "" {
			return strings.HasPrefix(l, prefix)
		}
	}
	return true
}

// updated reads where a file moves and its hunks.
func (p *parser) updated(f *file) *problem {
	f.path = strings.TrimSpace(f.path)
	if p.more() {
		if to, is := strings.CutPrefix(p.lines[p.at], moveTo); is {
			if f.to = strings.TrimSpace(to); f.to == "" {
				return wrong(p.number(), "the new name is missing.")
			}
			p.at++
		}
	}
	for p.more() && !p.sectionBegins() {
		if bad := p.passage(f); bad != nil {
			return bad
		}
	}
	if len(f.hunks) == 0 && f.to == "" {
		return wrong(f.line, "no change of %s follows. Write lines with ` `, `-` and `+` in front, after a line `@@`.", f.path)
	}
	return p.add(f)
}

func (p *parser) sectionBegins() bool {
	text := p.lines[p.at]
	return strings.HasPrefix(text, "*** ") && strings.TrimSpace(text) != endOfFile
}

// passage reads one hunk: `@@` lines, the lines, and perhaps the mark of the end.
func (p *parser) passage(f *file) *problem {
	h := &hunk{line: p.number()}
	for ; p.more() && strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		h.header(p.lines[p.at])
	}
	first := p.at
	for ; p.more() && !strings.HasPrefix(p.lines[p.at], "@@") && !strings.HasPrefix(p.lines[p.at], "*** "); p.at++ {
		if !h.take(p.lines[p.at]) {
			return wrong(p.number(), "each line of a hunk begins with a blank (it stays), `-` (it goes) or `+` (it comes), but this is %.60q.", p.lines[p.at])
		}
	}
	h.trim(p.lines[first:p.at])
	if p.more() && strings.TrimSpace(p.lines[p.at]) == endOfFile {
		h.atEnd = true
		p.at++
	}
	if len(h.lines) == 0 && len(h.anchors) == 0 && !h.counted {
		return nil // blank lines between files
	}
	if !h.changes() {
		return wrong(h.line, "the hunk changes nothing: none of its lines begins with `-` or `+`.")
	}
	return p.addHunk(f, h)
}

// header reads one `@@` line: the place in numbers, or a line that stands above.
func (h *hunk) header(text string) {
	if h.numbers(text) {
		return
	}
	text = strings.TrimSpace(strings.TrimPrefix(text, "@@"))
	text = strings.TrimSpace(strings.TrimSuffix(text, "@@"))
	if text != "" {
		h.anchors = append(h.anchors, text)
	}
}
