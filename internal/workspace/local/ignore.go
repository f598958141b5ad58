package local

import (
	"path"
	"strings"

	"github.com/cadre-dev/cadre/internal/glob"
)

const (
	ignoreFile        = ".gitignore"
	largestIgnoreFile = 1 << 20 // a larger one is not read
)

// rules are one folder's .gitignore, on top of those of the folders above. A nil
// *rules excludes nothing.
type rules struct {
	above *rules
	dir   string // whose file it is
	list  []rule
}

// rule is one line of it.
type rule struct {
	pattern glob.Pattern
	keep    bool // `!`: takes an exclusion back
	folders bool // trailing slash: folders only
	whole   bool // matched against the path below dir; else against the last element
}

// parseRules reads a .gitignore file. A line that is no valid pattern matches
// nothing, as in git.
func parseRules(dir, text string, above *rules) *rules {
	r := &rules{above: above, dir: dir}
	for line := range strings.Lines(text) {
		if one, ok := parseRule(strings.TrimRight(line, "\r\n")); ok {
			r.list = append(r.list, one)
		}
	}
	return r
}

func parseRule(line string) (r rule, ok bool) {
	line = trimBlanks(line)
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	if line[0] == '!' {
		r.keep, line = true, line[1:]
	}
	if rest, is := strings.CutSuffix(line, "/"); is {
		r.folders, line = true, rest
	}
	r.whole = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule{}, false
	}
	p, err := glob.Compile(line, glob.Options{})
	r.pattern = p
	return r, err == nil
}

// trimBlanks cuts trailing blanks, but not one behind a backslash.
func trimBlanks(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

// exclude tells whether an entry, whose folder is not excluded, is: the last
// matching line of the nearest file that has one decides.
func (r *rules) exclude(rel string, isDir bool) bool {
	for ; r != nil; r = r.above {
		below := rel
		if r.dir != "." {
			below = strings.TrimPrefix(rel, r.dir+"/")
		}
		for i := len(r.list) - 1; i >= 0; i-- {
			if one := r.list[i]; one.matches(below, isDir) {
				return !one.keep
			}
		}
	}
	return false
}

func (r rule) matches(below string, isDir bool) bool {
	if r.folders && !isDir {
		return false
	}
	if r.whole {
		return r.pattern.Match(below)
	}
	return r.pattern.Match(path.Base(below))
}
