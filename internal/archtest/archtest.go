// Package archtest keeps the four laws of the house: imports point down, two
// rooms of one floor meet only through a listed door, children know parents
// only, and heavy libraries stay in one room. It also keeps a few habits that
// the laws rest on: no init functions, a comment on every package, test helpers
// outside the product, no test that waits for time.
//
// It promises that a tree without violations obeys them in every file, whatever
// its build tags, because it parses the files itself instead of asking the
// build. It reads imports, comments and names; it does not type-check, so that
// calls through reflection or linkname stay unseen.
//
// The map of rooms is in floors.go, the doors are in doors.go, the libraries in
// heavy.go. A new room, door or library is one line there, with its reason.
package archtest

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
)

// Module is the import path of the repository's root.
const Module = "github.com/cadre-dev/cadre"

// Violation is one file that breaks one rule.
type Violation struct {
	// File is relative to the repository's root, slash-separated.
	File string
	// Line counts from 1; 0 means the file or folder as a whole.
	Line int
	// Rule is the short name of what is broken: see rules.go.
	Rule Rule
	// Message says what is wrong and what to do.
	Message string
}

// String renders the violation on one line, as compilers do.
func (v Violation) String() string {
	where := v.File
	if v.Line > 0 {
		where = fmt.Sprintf("%s:%d", v.File, v.Line)
	}
	return fmt.Sprintf("%s: %s: %s", where, v.Rule, v.Message)
}

// Check reads every Go file of the module in root and returns what breaks a
// rule, in the order of files and lines; nil when nothing does. Other modules
// below root, testdata and folders that begin with a dot or an underscore are
// left out. The error is about files that cannot be read or parsed.
func Check(root fs.FS) ([]Violation, error) {
	files, err := parse(root)
	if err != nil {
		return nil, err
	}
	c := &checker{files: files, packages: map[string][]*file{}}
	for _, f := range files {
		c.packages[f.dir] = append(c.packages[f.dir], f)
	}
	c.rooms()
	for _, f := range files {
		for _, imp := range f.imports {
			c.heavy(f, imp)
			if imp.ours {
				c.imported(f, imp)
			}
		}
		c.inits(f)
		c.waits(f)
	}
	c.comments()
	c.slim()
	slices.SortStableFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return c.found, nil
}

// checker collects violations over one tree.
type checker struct {
	files    []*file
	packages map[string][]*file // by folder
	found    []Violation
}

// report adds a violation.
func (c *checker) report(f *file, line int, rule Rule, format string, args ...any) {
	c.found = append(c.found, Violation{File: f.name, Line: line, Rule: rule, Message: fmt.Sprintf(format, args...)})
}
