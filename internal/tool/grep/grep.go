// Package grep is the tool that searches files for a regular expression. A search
// takes time linear in what it reads, whatever the pattern. It changes nothing
// and may run in parallel and again.
package grep

import (
	"context"
	_ "embed" // for the texts beside this file
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/cadre-dev/cadre/internal/glob"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

const (
	usualLimit  = 100
	mostLimit   = 1000
	mostContext = 20
	longest     = 4096 // bytes of a pattern
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

type grep struct{}

// New makes the tool.
func New() tool.Tool { return grep{} }

// Spec describes the tool.
func (grep) Spec() tool.Spec {
	return tool.Spec{Name: "grep", Description: description, Schema: schema, Class: tool.ReadOnly}
}

type arguments struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path,omitempty"`
	Glob       string `json:"glob,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Context    int    `json:"context,omitempty"`
	Limit      *int   `json:"limit,omitempty"`
}

// Run searches.
func (grep) Run(ctx context.Context, env tool.Env, call tool.Call) (tool.Result, error) {
	s, r := prepare(call)
	if r != nil {
		return *r, nil
	}
	if r := tool.NeedWorkspace(env); r != nil {
		return *r, nil
	}
	s.ws = env.Workspace
	s.top = tool.Rel(s.ws, s.args.Path)
	if err := s.all(ctx); err != nil {
		return tool.Refused(ctx, s.ws, s.args.Path, err)
	}
	return s.result(), nil
}

// prepare checks the arguments.
func prepare(call tool.Call) (*search, *tool.Result) {
	s := &search{limit: usualLimit}
	if r := tool.Decode(call, &s.args); r != nil {
		return nil, r
	}
	if s.args.Limit != nil {
		s.limit = *s.args.Limit
	}
	if s.args.Path == "" {
		s.args.Path = "."
	}
	bad := s.args.check(s.limit)
	if bad == "" {
		bad = s.compile()
	}
	if bad != "" {
		r := tool.Fail("%s", bad)
		return nil, &r
	}
	return s, nil
}

func (a arguments) check(limit int) string {
	switch {
	case a.Pattern == "":
		return "`pattern` must not be empty."
	case len(a.Pattern) > longest:
		return fmt.Sprintf("`pattern` has %d bytes, more than %d.", len(a.Pattern), longest)
	case a.Context < 0 || a.Context > mostContext:
		return fmt.Sprintf("`context` must be between 0 and %d, not %d.", mostContext, a.Context)
	case limit < 1 || limit > mostLimit:
		return fmt.Sprintf("`limit` must be between 1 and %d, not %d.", mostLimit, limit)
	}
	return ""
}

// compile makes the matchers and says what is wrong with their sources.
func (s *search) compile() string {
	flags := ""
	if s.args.IgnoreCase {
		flags = "(?i)"
	}
	var err error
	if s.re, err = regexp.Compile(flags + s.args.Pattern); err != nil {
		return fmt.Sprintf("`pattern` is no valid regular expression (RE2 syntax): %v. To search for the characters themselves, escape them with \\.", err)
	}
	if s.args.Glob == "" {
		return ""
	}
	if s.glob, err = glob.Compile(strings.TrimPrefix(s.args.Glob, "./"), glob.Options{Braces: true}); err != nil {
		return fmt.Sprintf("`glob`: %v.", err)
	}
	return ""
}

// wanted tells whether the glob lets a file through.
func (s *search) wanted(info workspace.Info) bool {
	if info.IsDir || !info.Mode.IsRegular() {
		return false
	}
	switch {
	case s.args.Glob == "":
		return true
	case strings.Contains(s.args.Glob, "/"):
		below := info.Path
		if s.top != "." {
			below = strings.TrimPrefix(below, s.top+"/")
		}
		return s.glob.Match(below)
	}
	return s.glob.Match(path.Base(info.Path))
}
