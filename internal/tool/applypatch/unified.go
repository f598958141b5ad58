package applypatch

import (
	"regexp"
	"strconv"
	"strings"
)

const (
	oldFile = "--- "
	newFile = "+++ "
	noFile  = "/dev/null"

	signature = "-- " // ends a diff that came by mail
)

var numbers = regexp.MustCompile(`^@@+ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@`)

// numbers reads `@@ -3,7 +3,8 @@` and tells whether that stands there.
func (h *hunk) numbers(text string) bool {
	m := numbers.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	at, err := strconv.Atoi(m[1])
	old := 1
	if err == nil && m[2] != "" {
		old, err = strconv.Atoi(m[2])
	}
	if err != nil {
		return true // a number out of all bounds is no hint
	}
	h.counted, h.at, h.old = true, at, old
	return true
}

// unified reads a unified diff, with or without git's headers.
func (p *parser) unified() *problem {
	for p.more() {
		text := p.lines[p.at]
		switch {
		case p.fileBegins():
			if bad := p.diff(); bad != nil {
				return bad
			}
		case strings.HasPrefix(text, "rename from "):
			if bad := p.rename(); bad != nil {
				return bad
			}
		case strings.HasPrefix(text, "Binary files ") || strings.HasPrefix(text, "GIT binary patch"):
			return wrong(p.number(), "binary files cannot be patched.")
		case strings.HasPrefix(text, "@@"):
			return wrong(p.number(), "a hunk stands before the lines `--- a/name` and `+++ b/name` of its file.")
		case strings.HasPrefix(text, "*** "):
			return wrong(p.number(), "%.60q stands outside of an envelope: begin with `%s`.", text, begin)
		default:
			p.at++ // git's headers, and words around the diff
		}
	}
	return nil
}

// fileBegins tells whether `---` and `+++` lines of a file come, which a removed line
// that begins with `--` does not look like.
func (p *parser) fileBegins() bool {
	return p.at+1 < len(p.lines) && strings.HasPrefix(p.lines[p.at], oldFile) && strings.HasPrefix(p.lines[p.at+1], newFile)
}

// rename reads git's headers of a moved file, and its hunks if there are any.
func (p *parser) rename() *problem {
	f := &file{line: p.number(), path: name(p.lines[p.at][len("rename from "):])}
	p.at++
	if !p.more() || !strings.HasPrefix(p.lines[p.at], "rename to ") {
		return wrong(f.line, "`rename to` does not follow.")
	}
	if f.to = name(p.lines[p.at][len("rename to "):]); f.to == "" {
		return wrong(p.number(), "the new name is missing.")
	}
	for p.at++; p.more() && strings.HasPrefix(p.lines[p.at], "index "); p.at++ {
	}
	if p.more() && p.fileBegins() {
		p.at += 2
		if bad := p.body(f); bad != nil {
			return bad
		}
	}
	return p.add(f)
}

// diff reads one file.
func (p *parser) diff() *problem {
	f := &file{line: p.number()}
	from, to := name(p.lines[p.at][len(oldFile):]), name(p.lines[p.at+1][len(newFile):])
	p.at += 2
	from, to = bare(from, to)
	switch {
	case from == "" || to == "":
		return wrong(f.line, "the file has no name. For a new or a removed file the other name is %s.", noFile)
	case from == noFile && to == noFile:
		return wrong(f.line, "both names are %s.", noFile)
	case from == noFile:
		f.kind, f.path = adding, to
	case to == noFile:
		f.kind, f.path = removing, from
	case from != to:
		f.path, f.to = from, to
	default:
		f.path = from
	}
	if bad := p.body(f); bad != nil {
		return bad
	}
	if len(f.hunks) == 0 && f.to == "" && f.kind == changing {
		return wrong(f.line, "no hunk follows. It begins with a line such as `@@ -3,7 +3,8 @@`.")
	}
	return p.add(f)
}

// body reads the hunks of one file.
func (p *parser) body(f *file) *problem {
	for p.more() && strings.HasPrefix(p.lines[p.at], "@@") {
		h := &hunk{line: p.number()}
		h.header(p.lines[p.at])
		first := p.at + 1
		for p.at++; p.more() && !p.hunkEnds(h); p.at++ {
			if !h.take(p.lines[p.at]) {
				break
			}
		}
		h.trim(p.lines[first:p.at])
		if !h.changes() {
			return wrong(h.line, "the hunk changes nothing: none of its lines begins with `-` or `+`.")
		}
		if bad := p.addHunk(f, h); bad != nil {
			return bad
		}
	}
	if p.more() && !p.betweenFiles() {
		return wrong(p.number(), "each line of a hunk begins with a blank (it stays), `-` (it goes) or `+` (it comes), but this is %.60q.", p.lines[p.at])
	}
	return nil
}

// hunkEnds tells whether another hunk or file begins.
func (p *parser) hunkEnds(h *hunk) bool {
	text := p.lines[p.at]
	if text == signature && h.counted && len(h.before()) >= h.old {
		return true
	}
	if strings.HasPrefix(text, "@@") || strings.HasPrefix(text, "diff --git ") {
		return true
	}
	return p.fileBegins() && (p.at+2 == len(p.lines) || strings.HasPrefix(p.lines[p.at+2], "@@"))
}

// betweenFiles tells whether the line may stand where the hunks of a file have ended.
func (p *parser) betweenFiles() bool {
	text := p.lines[p.at]
	for _, prefix := range []string{"diff ", "index ", "Index: ", "rename ", "similarity ", "new file ", "deleted file ", "old mode ", "new mode ", "====", "Binary ", "GIT binary ", "```"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return p.fileBegins() || text == signature || strings.TrimSpace(text) == ""
}

// name is a file's name without git's quotes and without the date that may follow.
func name(text string) string {
	if s, err := strconv.Unquote(strings.TrimSpace(text)); err == nil {
		return s
	}
	text, _, _ = strings.Cut(text, "\t")
	return strings.TrimSpace(text)
}

// bare takes git's `a/` and `b/` off the two names of a file.
func bare(from, to string) (string, string) {
	f, isA := strings.CutPrefix(from, "a/")
	t, isB := strings.CutPrefix(to, "b/")
	if (isA || from == noFile) && (isB || to == noFile) {
		return f, t
	}
	return from, to
}
