package local

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// walker is one walk.
type walker struct {
	folder *Folder
	ctx    context.Context
	yield  func(workspace.Info, error) bool
}

// Walk gives all entries below a folder. A folder in there that vanishes, or that
// the system does not let us open, is given without entries.
func (f *Folder) Walk(ctx context.Context, name string) iter.Seq2[workspace.Info, error] {
	return func(yield func(workspace.Info, error) bool) {
		rel, err := f.rel(name)
		if err != nil {
			yield(workspace.Info{}, err)
			return
		}
		w := walker{f, ctx, yield}
		w.entries(rel, f.rulesAbove(rel), true)
	}
}

// entries walks one folder and tells whether to go on.
func (w walker) entries(rel string, above *rules, first bool) bool {
	if err := gone(w.ctx); err != nil {
		w.yield(workspace.Info{}, err)
		return false
	}
	all, err := w.folder.entries(rel)
	if err != nil && !first && passable(err) {
		return true
	}
	if err != nil {
		w.yield(workspace.Info{}, err)
		return false
	}
	here := w.folder.rulesIn(rel, all, above)
	for _, info := range all {
		if path.Base(info.Path) == ".git" || here.exclude(info.Path, info.IsDir) {
			continue
		}
		if !w.yield(info, nil) {
			return false
		}
		if info.IsDir && !w.entries(info.Path, here, false) {
			return false
		}
	}
	return true
}

// passable errors concern one folder, which a walk can do without.
func passable(err error) bool {
	return errors.Is(err, workspace.ErrNotFound) || errors.Is(err, workspace.ErrDenied) ||
		errors.Is(err, workspace.ErrNotFolder) || errors.Is(err, workspace.ErrOutside)
}

// rulesAbove reads the .gitignore files of the folders that hold rel.
func (f *Folder) rulesAbove(rel string) *rules {
	if rel == "." {
		return nil
	}
	r := f.rulesOf(".", nil)
	for i, c := range rel {
		if c == '/' {
			r = f.rulesOf(rel[:i], r)
		}
	}
	return r
}

// rulesIn adds a folder's own rules, when its entries show that it has some.
func (f *Folder) rulesIn(rel string, all []workspace.Info, above *rules) *rules {
	for _, info := range all {
		if path.Base(info.Path) == ignoreFile && info.Mode.IsRegular() {
			return f.rulesOf(rel, above)
		}
	}
	return above
}

// rulesOf reads one .gitignore file; without one, above is all there is.
func (f *Folder) rulesOf(dir string, above *rules) *rules {
	info, err := f.root.Lstat(path.Join(dir, ignoreFile))
	if err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return above
	}
	data, err := f.Read(context.Background(), path.Join(dir, ignoreFile), largestIgnoreFile)
	if err != nil {
		return above
	}
	return parseRules(dir, strings.TrimPrefix(string(data), "\ufeff"), above)
}
