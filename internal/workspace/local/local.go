// Package local is the workspace driver for a folder on this host. Every access
// goes through an open handle of the folder (os.Root), so that neither a path
// nor a link, also one that is swapped in at the wrong moment, leads out of it.
//
// It does not hide what changes the folder from outside: between the check of a
// Replacement's Before and the rename another program may still write, which no
// system call can rule out. A hard link is cut by a Replace, and owner and
// extended attributes are those of a new file.
package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// Folder is a workspace over a folder of this host.
type Folder struct {
	root    *os.Root
	name    string // as it was opened, absolute and clean
	real    string // with links resolved
	escapes error  // what root answers to a path that leaves it
	host    *Host  // runs commands; nil when none can be run
	locks   locks
}

// Open opens the folder at an absolute path, which must exist. The error is a
// fault that says what to do. Close the workspace when it is no longer used.
func Open(path string) (workspace.Workspace, error) {
	if !filepath.IsAbs(path) {
		return nil, fault.New(fault.InvalidArgument, "WORKSPACE_PATH_NOT_ABSOLUTE",
			"the workspace %q is not an absolute path: give the folder's full path, beginning at the root", path)
	}
	path = filepath.Clean(path)
	if err := usable(path); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	f := &Folder{root: root, name: filepath.ToSlash(path), real: filepath.ToSlash(real)}
	var refused *fs.PathError
	if _, err := root.Lstat(".."); errors.As(err, &refused) {
		f.escapes = refused.Err
	}
	return f, nil
}

// usable tells what is wrong with a path as a workspace.
func usable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return unusable(path, err)
	}
	if !info.IsDir() {
		return workspace.ErrNotFolder.Saying("the workspace %s is a file: name the folder that holds it", path)
	}
	return nil
}

func unusable(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, "WORKSPACE_NOT_FOUND",
			"the workspace %s does not exist: create the folder, or name another", path).Because(err)
	case errors.Is(err, fs.ErrPermission):
		return workspace.ErrDenied.Saying(
			"the workspace %s cannot be opened: the user that Cadre runs as needs read and search permission on it", path).Because(err)
	}
	return workspace.ErrFailed.Saying("the workspace %s cannot be opened", path).Because(err)
}

// Name is the folder's absolute path, with forward slashes.
func (f *Folder) Name() string { return f.name }

// Close releases the folder's handle. What runs at that moment may fail.
func (f *Folder) Close() error { return f.root.Close() }

// rel is workspace.Rel for both names of the folder.
func (f *Folder) rel(name string) (string, error) {
	rel, err := workspace.Rel(f.name, name)
	if err != nil && f.real != f.name {
		if r, e := workspace.Rel(f.real, name); e == nil {
			return r, nil
		}
	}
	return rel, err
}

// fault says what went wrong with a path in the words of the seam.
func (f *Folder) fault(rel string, err error) error {
	var told *fault.Fault
	switch {
	case errors.As(err, &told):
		return err
	case f.escapes != nil && errors.Is(err, f.escapes):
		return workspace.Outside(f.name, rel)
	case errors.Is(err, fs.ErrNotExist):
		return workspace.ErrNotFound.Saying("no such file: %s", rel).With("path", rel).Because(err)
	case errors.Is(err, syscall.ENOTDIR):
		return workspace.ErrNotFolder.Saying("a part of the path %s is not a folder", rel).With("path", rel).Because(err)
	case errors.Is(err, syscall.ELOOP):
		return workspace.ErrBadPath.Saying("the path %s goes through too many links", rel).With("path", rel).Because(err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return workspace.ErrBadPath.Saying("the path %.80s… is too long", rel).Because(err)
	case errors.Is(err, fs.ErrPermission):
		return workspace.ErrDenied.Saying("the system does not allow that for %s", rel).With("path", rel).Because(err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return workspace.ErrFull.Saying("no space is left for %s", rel).With("path", rel).Because(err)
	}
	return workspace.ErrFailed.Saying("the workspace could not work on %s", rel).With("path", rel).Because(err)
}

// gone is the cause of ctx's end, or nil while it lives.
func gone(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
