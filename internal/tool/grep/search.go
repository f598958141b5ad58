package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cadre-dev/cadre/internal/glob"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

const mostLineSize = 500 // characters of one line

// search is one run.
type search struct {
	args  arguments
	limit int
	re    *regexp.Regexp
	glob  glob.Pattern
	ws    workspace.Workspace
	top   string // where it searches, relative to the workspace

	out      strings.Builder
	matches  int
	files    int // with a match
	searched int
	large    int    // files that were not read for their size
	unread   int    // files that could not be read
	full     string // why the search ended early; "" when it did not
}

// all searches a folder or one file.
func (s *search) all(ctx context.Context) error {
	info, err := s.ws.Stat(ctx, s.args.Path)
	if err != nil {
		return err
	}
	if info.Mode.IsRegular() {
		return s.file(ctx, info.Path)
	}
	for info, err := range s.ws.Walk(ctx, s.args.Path) {
		if errors.Is(err, workspace.ErrNotFolder) && info.Path == "" && s.searched == 0 {
			return s.file(ctx, s.args.Path) // a link to a file
		}
		if err != nil {
			return err
		}
		if !s.wanted(info) {
			continue
		}
		if err := s.file(ctx, info.Path); err != nil {
			return err
		}
		if s.full != "" {
			return nil
		}
	}
	return nil
}

// file searches one file. One of many that cannot be read is counted.
func (s *search) file(ctx context.Context, name string) error {
	data, err := s.ws.Read(ctx, name, tool.LargestFile)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, workspace.ErrTooLarge):
		s.large++
		return nil
	case name != s.top && passable(err):
		s.unread++
		return nil
	case err != nil:
		return err
	}
	s.searched++
	if tool.IsBinary(data) || !s.mayMatch(data) {
		return nil
	}
	s.lines(name, tool.Lines(string(data)))
	return nil
}

// passable errors concern one file of many: it vanished, became something else, or
// the system does not let us read it.
func passable(err error) bool {
	return errors.Is(err, workspace.ErrNotFound) || errors.Is(err, workspace.ErrDenied) || errors.Is(err, workspace.ErrOutside) ||
		errors.Is(err, workspace.ErrIsFolder) || errors.Is(err, workspace.ErrNotFolder) || errors.Is(err, workspace.ErrNotFile)
}

// mayMatch looks for the literal that each match begins with, which is much
// cheaper than to try the expression on each line.
func (s *search) mayMatch(data []byte) bool {
	prefix, _ := s.re.LiteralPrefix()
	return prefix == "" || bytes.Contains(data, []byte(prefix))
}

// lines writes the matches of one file, with context.
func (s *search) lines(name string, lines []string) {
	written := -1 // the last line that is out
	found := false
	for i, l := range lines {
		if !s.re.MatchString(l) {
			continue
		}
		if s.matches == s.limit {
			s.full = fmt.Sprintf("[stopped at %s; narrow the search, or set `limit`]\n", tool.Count(s.limit, "match", "matches"))
			return
		}
		s.matches++
		if !found {
			found = true
			s.files++
		}
		from, to := max(i-s.args.Context, written+1), min(i+s.args.Context, len(lines)-1)
		if s.args.Context > 0 && s.out.Len() > 0 && (written < 0 || from > written+1) {
			s.out.WriteString("--\n")
		}
		written = s.write(name, lines, from, i, to)
		if s.full != "" {
			return
		}
	}
}

// write puts out the lines from..to, of which match is one, but stops before the
// next match; it answers the last line that is out.
func (s *search) write(name string, lines []string, from, match, to int) int {
	for i := from; i <= to; i++ {
		mark := "-"
		if i == match {
			mark = ":"
		}
		if i > match && s.re.MatchString(lines[i]) {
			return i - 1
		}
		one := fmt.Sprintf("%s%s%d%s %s\n", name, mark, i+1, mark, tool.Shorten(lines[i], mostLineSize))
		if s.out.Len()+len(one) > tool.MostText {
			s.full = "[stopped: there is more than can be shown; narrow the search]\n"
			return i - 1
		}
		s.out.WriteString(one)
	}
	return to
}

// result ends the text with what was left out.
func (s *search) result() tool.Result {
	summary := tool.Count(s.matches, "match", "matches")
	if s.matches == 0 {
		fmt.Fprintf(&s.out, "[no match in %s]\n", tool.Count(s.searched, "file", "files"))
	}
	if s.large > 0 {
		fmt.Fprintf(&s.out, "[%s of more than %d MiB not searched]\n", tool.Count(s.large, "file", "files"), tool.LargestFile>>20)
	}
	if s.unread > 0 {
		fmt.Fprintf(&s.out, "[%s could not be read]\n", tool.Count(s.unread, "file", "files"))
	}
	s.out.WriteString(s.full)
	if s.files > 0 {
		summary += " in " + tool.Count(s.files, "file", "files")
	}
	return tool.Result{Text: s.out.String(), Summary: summary}
}
