package glob

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/cadre-dev/cadre/internal/glob"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// search is one run.
type search struct {
	args    arguments
	limit   int
	pattern glob.Pattern
	folded  glob.Pattern // the same, letter case aside
	folders bool         // folders are looked for, not files
	whole   bool         // the pattern is about the path below top, not the name alone
	ws      workspace.Workspace
	top     string // where it searches, relative to the workspace

	out    strings.Builder
	found  int
	looked int
	almost string // the first path that fits but for letter case
	full   string // why the search ended early; "" when it did not
}

// all looks at everything below the path.
func (s *search) all(ctx context.Context) error {
	for info, err := range s.ws.Walk(ctx, s.args.Path) {
		if errors.Is(err, workspace.ErrNotFolder) && info.Path == "" {
			return workspace.ErrNotFolder.Saying("%s is a file: `path` is the folder to search. Use read to see the file", s.args.Path)
		}
		if err != nil {
			return err
		}
		if info.IsDir != s.folders {
			continue
		}
		s.look(info)
		if s.full != "" {
			return nil
		}
	}
	return nil
}

// look takes or leaves one entry.
func (s *search) look(info workspace.Info) {
	s.looked++
	name := path.Base(info.Path)
	if s.whole {
		name = strings.TrimPrefix(info.Path, strings.TrimPrefix(s.top+"/", "./"))
	}
	if !s.pattern.Match(name) {
		if s.almost == "" && s.folded.Match(name) {
			s.almost = info.Path
		}
		return
	}
	line := info.Path + "\n"
	if s.folders {
		line = info.Path + "/\n"
	}
	switch {
	case s.found == s.limit:
		s.full = fmt.Sprintf("[stopped at %s, in the order of names; narrow the pattern or `path`, or set `limit`]\n", s.count())
	case s.out.Len()+len(line) > tool.MostText:
		s.full = fmt.Sprintf("[stopped at %s: there is more than can be shown; narrow the pattern or `path`]\n", s.count())
	default:
		s.found++
		s.out.WriteString(line)
	}
}

func (s *search) count() string { return s.things(s.found) }

func (s *search) things(n int) string {
	if s.folders {
		return tool.Count(n, "folder", "folders")
	}
	return tool.Count(n, "file", "files")
}

// result ends the text with what the model should know about what is not in it.
func (s *search) result() tool.Result {
	if s.found == 0 {
		fmt.Fprintf(&s.out, "[nothing fits among %s; what .gitignore excludes was not looked at]\n", s.things(s.looked))
		if s.almost != "" {
			fmt.Fprintf(&s.out, "[in another letter case %s fits]\n", s.almost)
		}
	}
	s.out.WriteString(s.full)
	return tool.Result{Text: s.out.String(), Summary: s.count()}
}
