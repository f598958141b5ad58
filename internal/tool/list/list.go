// Package list is the tool that shows the model what is in a folder. It changes
// nothing and may run in parallel and again.
package list

import (
	"context"
	_ "embed" // for the texts beside this file
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/workspace"
)

const (
	usualDepth = 2
	mostRows   = 400    // shown in one answer
	mostLooked = 20_000 // entries, shown or counted
)

//go:embed description.md
var description string

//go:embed schema.json
var schema []byte

type lister struct{}

// New makes the tool.
func New() tool.Tool { return lister{} }

// Spec describes the tool.
func (lister) Spec() tool.Spec {
	return tool.Spec{Name: "list", Description: description, Schema: schema, Class: tool.ReadOnly}
}

type arguments struct {
	Path  string `json:"path,omitempty"`
	Depth *int   `json:"depth,omitempty"`
}

// Run lists.
func (lister) Run(ctx context.Context, env tool.Env, call tool.Call) (tool.Result, error) {
	var args arguments
	if r := tool.Decode(call, &args); r != nil {
		return *r, nil
	}
	depth := usualDepth
	if args.Depth != nil {
		depth = *args.Depth
	}
	if depth < 1 {
		return tool.Fail("`depth` must be 1 or more, not %d.", depth), nil
	}
	if r := tool.NeedWorkspace(env); r != nil {
		return *r, nil
	}
	if args.Path == "" {
		args.Path = "."
	}
	t := tree{top: tool.Rel(env.Workspace, args.Path), depth: depth}
	err := t.grow(env.Workspace.Walk(ctx, args.Path))
	if errors.Is(err, workspace.ErrNotFolder) {
		return file(ctx, env.Workspace, args.Path)
	}
	if err != nil {
		return tool.Refused(ctx, env.Workspace, args.Path, err)
	}
	return t.result(), nil
}

// file answers for a path that is no folder.
func file(ctx context.Context, ws workspace.Workspace, name string) (tool.Result, error) {
	info, err := ws.Stat(ctx, name)
	if err != nil {
		return tool.Refused(ctx, ws, name, err)
	}
	return tool.Result{Text: (&row{name: info.Path, info: info}).String() + "\n[a file, not a folder; use read to see its lines]\n", Summary: "1 file"}, nil
}

// tree collects rows in the order of a walk.
type tree struct {
	top    string // whose entries these are
	depth  int
	rows   []*row
	looked int
	cut    string // why there is more than is shown; "" when all is
}

// row is one shown entry.
type row struct {
	level int // 0 for the entries of top
	name  string
	info  workspace.Info
	below int // entries that are counted, not shown
	more  bool
}

// grow takes entries until enough are there.
func (t *tree) grow(walk func(func(workspace.Info, error) bool)) error {
	for info, err := range walk {
		if err != nil {
			return err
		}
		if t.looked++; t.looked > mostLooked {
			t.cut = fmt.Sprintf("[stopped after %d entries; name a folder in `path` to see more]\n", mostLooked)
			t.rows[len(t.rows)-1].more = true
			return nil
		}
		if !t.add(info) {
			t.cut = fmt.Sprintf("[only the first %d entries are shown; name a folder in `path` to see more]\n", mostRows)
			return nil
		}
	}
	return nil
}

// add shows or counts an entry, and tells whether there was room.
func (t *tree) add(info workspace.Info) bool {
	below := info.Path
	if t.top != "." {
		below = strings.TrimPrefix(below, t.top+"/")
	}
	level := strings.Count(below, "/")
	if level >= t.depth {
		t.rows[len(t.rows)-1].below++ // the folder that a walk is in came last
		return true
	}
	if len(t.rows) == mostRows {
		return false
	}
	t.rows = append(t.rows, &row{level: level, name: path.Base(info.Path), info: info})
	return true
}

func (t *tree) result() tool.Result {
	if len(t.rows) == 0 {
		return tool.Result{Text: fmt.Sprintf("[%s is empty, or .gitignore excludes all that is in it]\n", t.top), Summary: "empty"}
	}
	var b strings.Builder
	for _, r := range t.rows {
		if b.Len() > tool.MostText {
			t.cut = "[the names are too long to show them all; name a folder in `path` to see more]\n"
			break
		}
		b.WriteString(r.String() + "\n")
	}
	b.WriteString(t.cut)
	return tool.Result{Text: b.String(), Summary: tool.Count(len(t.rows), "entry", "entries")}
}

// String is one line: indented, with what there is to say about the entry.
func (r *row) String() string {
	s := strings.Repeat("  ", r.level) + r.name
	switch {
	case r.info.IsDir && r.more:
		return fmt.Sprintf("%s/  (%d entries and more)", s, r.below)
	case r.info.IsDir && r.below > 0:
		return fmt.Sprintf("%s/  (%s)", s, tool.Count(r.below, "entry", "entries"))
	case r.info.IsDir:
		return s + "/"
	case r.info.Link != "":
		return s + " -> " + r.info.Link
	}
	return s + "  " + size(r.info.Size)
}

// size writes bytes for people, in steps of 1024.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, "KB"
	for _, next := range []string{"MB", "GB", "TB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, next
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}
