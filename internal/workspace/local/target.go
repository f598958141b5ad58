package local

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// mostLinks that a path's last element may lead through.
const mostLinks = 8

// target is the place of one file: its open folder and its name in there, which
// was no link when it was looked up. Close it.
type target struct {
	folder *os.Root
	base   string
	rel    string      // for people
	info   os.FileInfo // nil when nothing is there
}

func (t *target) close() { t.folder.Close() }

// file refuses a target that is there and has no content to replace.
func (t *target) file() error {
	if t.info == nil {
		return nil
	}
	return regular(t.info, t.rel)
}

// target follows the links at the end of rel. With create, missing folders are
// made; without, they are ErrNotFound.
func (f *Folder) target(rel string, create bool) (*target, error) {
	at := rel // may hold `..` after a link, which only the system may resolve
	for range mostLinks {
		dir, base := path.Split(at)
		if base == "" || base == "." || base == ".." {
			return nil, workspace.ErrIsFolder.Saying("%s is a folder", rel).With("path", rel)
		}
		t, err := f.look(dir, base, rel, create)
		if err != nil {
			return nil, err
		}
		if t.info == nil || t.info.Mode()&os.ModeSymlink == 0 {
			return t, nil
		}
		to, err := t.folder.Readlink(base)
		t.close()
		if err != nil {
			return nil, f.fault(rel, err)
		}
		if path.IsAbs(to) {
			return nil, workspace.Outside(f.name, rel)
		}
		at = dir + strings.TrimRight(to, "/")
	}
	return nil, workspace.ErrBadPath.Saying("the path %s goes through too many links", rel).With("path", rel)
}

// look opens the folder dir and looks at one name in it.
func (f *Folder) look(dir, base, rel string, create bool) (*target, error) {
	if dir == "" {
		dir = "."
	}
	folder, err := f.root.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := f.makeFolders(path.Clean(dir)); err != nil {
			return nil, f.fault(rel, err)
		}
		folder, err = f.root.OpenRoot(dir)
	}
	if err != nil {
		return nil, f.fault(rel, err)
	}
	info, err := folder.Lstat(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		folder.Close()
		return nil, f.fault(rel, err)
	}
	if err != nil {
		info = nil
	}
	return &target{folder: folder, base: base, rel: rel, info: info}, nil
}

// makeFolders makes dir and what is missing above it, durably.
func (f *Folder) makeFolders(dir string) error {
	var above []string
	for d := dir; d != "."; d = path.Dir(d) {
		if _, err := f.root.Stat(d); err == nil {
			break
		}
		above = append(above, path.Dir(d))
	}
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range above {
		if err := syncFolder(f.root, d); err != nil {
			return err
		}
	}
	return nil
}
