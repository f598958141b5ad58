package local

import (
	"context"
	"errors"
	"os"
	"path"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// remove takes away the entry that rel names. A link goes itself and what it leads to
// stays; the condition is about the content that is read through it. One that leaves
// the folder is refused.
func (f *Folder) remove(ctx context.Context, rel, before string) error {
	dir, base := path.Split(rel)
	if base == "." {
		return workspace.ErrIsFolder.Saying("%s is a folder", rel).With("path", rel)
	}
	t, err := f.look(dir, base, rel, false)
	if errors.Is(err, workspace.ErrNotFound) {
		return missing(rel, before)
	}
	if err != nil {
		return err
	}
	defer t.close()
	release, err := f.hold(ctx, t)
	if err != nil {
		return err
	}
	defer release()
	if t.info == nil {
		return missing(rel, before)
	}
	if err := f.removable(ctx, t, before); err != nil {
		return err
	}
	return f.unlink(t)
}

// missing is the answer to a removal of what is not there: done, or changed.
func missing(rel, before string) error {
	if before == "" || before == workspace.Absent {
		return nil
	}
	return changed(rel, workspace.Absent)
}

// removable checks what stands at the target, through a link if it is one.
func (f *Folder) removable(ctx context.Context, t *target, before string) error {
	if t.info.Mode()&os.ModeSymlink == 0 {
		if err := t.file(); err != nil {
			return err
		}
		return f.unchanged(ctx, t, before)
	}
	end, err := f.target(t.rel, false)
	if errors.Is(err, workspace.ErrNotFound) { // the folder that it leads to is missing
		return missing(t.rel, before)
	}
	if err != nil {
		return err
	}
	defer end.close()
	if err := end.file(); err != nil {
		return err
	}
	return f.unchanged(ctx, end, before)
}

// unlink removes the name, durably. That it is gone already is no error.
func (f *Folder) unlink(t *target) error {
	if err := t.folder.Remove(t.base); err != nil && !errors.Is(err, os.ErrNotExist) {
		return f.fault(t.rel, err)
	}
	if err := syncFolder(t.folder, "."); err != nil {
		return f.fault(t.rel, err)
	}
	return nil
}
