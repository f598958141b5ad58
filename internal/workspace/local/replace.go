package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// tempPrefix begins the names of temporary files.
const tempPrefix = ".cadre-tmp-"

// Replace writes a file whole, or removes it.
func (f *Folder) Replace(ctx context.Context, r workspace.Replacement) error {
	if err := gone(ctx); err != nil {
		return err
	}
	rel, err := f.rel(r.Path)
	if err != nil {
		return err
	}
	if r.Remove {
		return f.remove(ctx, rel, r.Before)
	}
	wasThere := r.Before != "" && r.Before != workspace.Absent
	t, err := f.target(rel, !wasThere)
	if wasThere && errors.Is(err, workspace.ErrNotFound) {
		return changed(rel, workspace.Absent)
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
	return f.replace(ctx, t, r)
}

// hold waits until nobody else changes the target, and looks at it once more.
func (f *Folder) hold(ctx context.Context, t *target) (release func(), err error) {
	folder, err := t.folder.Stat(".")
	if err != nil {
		return nil, f.fault(t.rel, err)
	}
	release, err = f.locks.hold(ctx, folder, t.base)
	if err != nil {
		return nil, err
	}
	if t.info, err = t.folder.Lstat(t.base); err != nil {
		t.info = nil
	}
	return release, nil
}

// replace writes beside the target, checks, renames. It leaves no temporary file
// unless the process dies.
func (f *Folder) replace(ctx context.Context, t *target, r workspace.Replacement) error {
	if err := t.file(); err != nil {
		return err
	}
	temp := tempName(r.Token, t.base)
	if err := t.write(ctx, temp, r.Data); err != nil {
		t.folder.Remove(temp)
		return f.ended(ctx, t.rel, err)
	}
	if err := f.unchanged(ctx, t, r.Before); err != nil {
		t.folder.Remove(temp)
		return err
	}
	if err := t.folder.Rename(temp, t.base); err != nil {
		t.folder.Remove(temp)
		return f.fault(t.rel, err)
	}
	if err := syncFolder(t.folder, "."); err != nil {
		return f.fault(t.rel, err)
	}
	return nil
}

// unchanged checks the condition of a replacement, as late as can be.
func (f *Folder) unchanged(ctx context.Context, t *target, before string) error {
	if before == "" {
		return gone(ctx)
	}
	now, err := f.digest(ctx, t.folder, t.base, t.rel)
	if err != nil {
		return err
	}
	if now != before {
		return changed(t.rel, now)
	}
	return gone(ctx)
}

func changed(rel, now string) error {
	return workspace.ErrChanged.Saying("%s changed since it was read: read it again", rel).
		With("path", rel).With("digest", now)
}

// write fills the temporary file and makes it durable.
func (t *target) write(ctx context.Context, temp string, data []byte) (err error) {
	if err := t.folder.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	mode := fs.FileMode(0o644)
	if t.info != nil {
		mode = t.info.Mode().Perm() & 0o600
	}
	file, err := t.folder.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if t.info != nil {
		if err := file.Chmod(t.info.Mode().Perm()); err != nil {
			return err
		}
	}
	if _, err := io.Copy(file, patient{ctx, bytes.NewReader(data)}); err != nil {
		return err
	}
	return file.Sync()
}

// Tidy removes what an interrupted Replace left.
func (f *Folder) Tidy(ctx context.Context, name, token string) error {
	if err := gone(ctx); err != nil {
		return err
	}
	rel, err := f.rel(name)
	if err != nil {
		return err
	}
	t, err := f.target(rel, false)
	if errors.Is(err, workspace.ErrNotFound) {
		return nil
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
	err = t.folder.Remove(tempName(token, t.base))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.fault(rel, err)
	}
	return nil
}

// tempName is the temporary file's name for one token and one target: as much of
// the token as a name can hold, and a digest that tells all of them apart.
func tempName(token, base string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, token)
	sum := sha256.Sum256([]byte(token + "\x00" + base))
	return tempPrefix + safe[:min(len(safe), 64)] + "-" + hex.EncodeToString(sum[:6])
}

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(at *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := at.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}
