package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// Read gives a file's content.
func (f *Folder) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	rel, err := f.rel(name)
	if err != nil {
		return nil, err
	}
	file, size, err := f.open(ctx, f.root, rel, rel)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > limit {
		return nil, tooLarge(rel, size, limit)
	}
	data, err := readAll(patient{ctx, file}, size, limit)
	if err != nil {
		return nil, f.ended(ctx, rel, err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(rel, int64(len(data)), limit)
	}
	return data, nil
}

// readAll reads to the end, at most one byte more than limit; the size is a hint.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	data := make([]byte, 0, size+1)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF || int64(len(data)) > limit {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, 512)
		}
	}
}

func tooLarge(rel string, size, limit int64) error {
	return workspace.ErrTooLarge.Saying("%s has %d bytes, more than the %d that are read at once", rel, size, limit).
		With("path", rel).With("size", strconv.FormatInt(size, 10))
}

// open opens a regular file for reading and tells its size. It never waits and
// never opens anything else; name is the path below at, rel the one for people.
func (f *Folder) open(ctx context.Context, at *os.Root, name, rel string) (*os.File, int64, error) {
	if err := gone(ctx); err != nil {
		return nil, 0, err
	}
	info, err := at.Stat(name)
	if err == nil {
		err = regular(info, rel)
	}
	if err != nil {
		return nil, 0, f.fault(rel, err)
	}
	file, err := at.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, 0, f.fault(rel, err)
	}
	info, err = file.Stat() // another may stand there by now
	if err == nil {
		err = regular(info, rel)
	}
	if err != nil {
		file.Close()
		return nil, 0, f.fault(rel, err)
	}
	return file, info.Size(), nil
}

// regular refuses what has no content of its own.
func regular(info os.FileInfo, rel string) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return workspace.ErrIsFolder.Saying("%s is a folder", rel).With("path", rel)
	}
	return workspace.ErrNotFile.Saying("%s is neither a file nor a folder", rel).With("path", rel)
}

// patient ends a read when its context does.
type patient struct {
	ctx context.Context
	r   io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	if err := gone(p.ctx); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// ended tells a read that its context ended from one that failed.
func (f *Folder) ended(ctx context.Context, rel string, err error) error {
	if cause := gone(ctx); cause != nil {
		return cause
	}
	return f.fault(rel, err)
}

// Stat describes an entry.
func (f *Folder) Stat(ctx context.Context, name string) (workspace.Info, error) {
	rel, err := f.rel(name)
	if err != nil {
		return workspace.Info{}, err
	}
	if err := gone(ctx); err != nil {
		return workspace.Info{}, err
	}
	info, err := describe(f.root, rel, rel)
	if err != nil {
		return info, f.fault(rel, err)
	}
	return info, nil
}

// describe looks at one entry below at without following a final link.
func describe(at *os.Root, name, rel string) (workspace.Info, error) {
	info, err := at.Lstat(name)
	if err != nil {
		return workspace.Info{}, err
	}
	d := workspace.Info{Path: rel, Size: info.Size(), Mode: info.Mode(), IsDir: info.IsDir()}
	if info.Mode()&os.ModeSymlink != 0 {
		d.Link, err = at.Readlink(name)
	}
	return d, err
}

// List gives a folder's entries.
func (f *Folder) List(ctx context.Context, name string) ([]workspace.Info, error) {
	rel, err := f.rel(name)
	if err != nil {
		return nil, err
	}
	if err := gone(ctx); err != nil {
		return nil, err
	}
	return f.entries(rel)
}

// entries reads one folder. What vanishes meanwhile is left out.
func (f *Folder) entries(rel string) ([]workspace.Info, error) {
	at, err := f.root.OpenRoot(rel)
	if err != nil {
		return nil, f.notFolder(rel, err)
	}
	defer at.Close()
	names, err := namesIn(at)
	if err != nil {
		return nil, f.fault(rel, err)
	}
	all := make([]workspace.Info, 0, len(names))
	for _, n := range names {
		if strings.HasPrefix(n, tempPrefix) {
			continue
		}
		if info, err := describe(at, n, path.Join(rel, n)); err == nil {
			all = append(all, info)
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, f.fault(path.Join(rel, n), err)
		}
	}
	return all, nil
}

// notFolder says the usual reason why a folder cannot be opened.
func (f *Folder) notFolder(rel string, err error) error {
	if info, e := f.root.Stat(rel); e == nil && !info.IsDir() {
		return workspace.ErrNotFolder.Saying("%s is not a folder", rel).With("path", rel)
	}
	return f.fault(rel, err)
}

// namesIn gives the sorted names of a folder's entries.
func namesIn(at *os.Root) ([]string, error) {
	dir, err := at.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Digest is the SHA-256 of a file's content, or Absent.
func (f *Folder) Digest(ctx context.Context, name string) (string, error) {
	rel, err := f.rel(name)
	if err != nil {
		return "", err
	}
	return f.digest(ctx, f.root, rel, rel)
}

func (f *Folder) digest(ctx context.Context, at *os.Root, name, rel string) (string, error) {
	file, _, err := f.open(ctx, at, name, rel)
	if errors.Is(err, workspace.ErrNotFound) {
		return workspace.Absent, nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, patient{ctx, file}); err != nil {
		return "", f.ended(ctx, rel, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
