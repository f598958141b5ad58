// Package glob is the tool that finds files by their names. Matching takes time
// linear in the names it looks at, whatever the pattern. It changes nothing and may
// run in parallel and again; what it finds comes in the order of the walk, which is by
// name, and it tells nothing of what is in the files.
package glob

import (
	"context"
	_ "embed" // for the texts beside this file
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/glob"
	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	usualLimit = 200
	mostLimit  = 2000
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

type finder struct{}

// New makes the tool.
func New() tool.Tool { return finder{} }

// Spec describes the tool.
func (finder) Spec() tool.Spec {
	return tool.Spec{Name: "glob", Description: description, Schema: schema, Class: tool.ReadOnly}
}

type arguments struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
	Limit   *int   `json:"limit,omitempty"`
}

// Run finds.
func (finder) Run(ctx context.Context, env tool.Env, call tool.Call) (tool.Result, error) {
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
	pattern := strings.TrimPrefix(a.Pattern, "./")
	switch {
	case strings.Trim(pattern, "/") == "":
		return "`pattern` must not be empty. Every file is **."
	case strings.HasPrefix(pattern, "/"):
		return "`pattern` begins with a slash, but it is compared with the paths below `path`: leave the folder out of it, and name it in `path`."
	case pattern == ".." || strings.HasPrefix(pattern, "../") || strings.Contains(pattern, "/../"):
		return "`pattern` holds `..`, which no path below `path` does: name the folder in `path`."
	case limit < 1 || limit > mostLimit:
		return fmt.Sprintf("`limit` must be between 1 and %d, not %d.", mostLimit, limit)
	}
	return ""
}

// compile makes the matchers and says what is wrong with their source.
func (s *search) compile() string {
	pattern := strings.TrimPrefix(s.args.Pattern, "./")
	pattern, s.folders = strings.CutSuffix(pattern, "/")
	s.whole = strings.Contains(pattern, "/") || pattern == "**"
	var err error
	if s.pattern, err = glob.Compile(pattern, glob.Options{Braces: true}); err != nil {
		return fmt.Sprintf("`pattern`: %v.", err)
	}
	if s.folded, err = glob.Compile(pattern, glob.Options{Braces: true, IgnoreCase: true}); err != nil {
		return fmt.Sprintf("`pattern`: %v.", err)
	}
	return ""
}
