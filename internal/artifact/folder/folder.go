// Package folder is the artifact driver that keeps each artifact as one file of a
// local folder, named by its digest:
//
//	<data>/artifacts/sha256/ab/abcdef…
//
// A file appears whole or not at all: it is written beside, made durable and
// renamed. Files are readable for the owner alone. Several stores may share one
// folder, also from several processes.
package folder

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/fault"
)

const (
	tempFolder = "tmp"
	// oldRemains is the age at which a temporary file is taken for one that a dead
	// process left.
	oldRemains = 24 * time.Hour
)

// Registration is the driver's line in the standard list.
var Registration = artifact.Registration{Name: "folder", Open: Open}

// store keeps artifacts below one folder.
type store struct{ root *os.Root }

// Open makes or opens the store in dataDir, which must exist. It removes what
// writers that died a day ago left.
func Open(_ context.Context, dataDir string) (artifact.Store, error) {
	dir := filepath.Join(dataDir, "artifacts")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, failed("make", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failed("open", err)
	}
	s := &store{root}
	if err := s.prepare(); err != nil {
		root.Close()
		return nil, failed("prepare", err)
	}
	return s, nil
}

// failed hides paths of this host from the caller; the cause keeps them.
func failed(did string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fault.New(fault.ResourceExhausted, "ARTIFACT_STORE_FULL", "no space is left in the artifact store").Because(err)
	}
	return fault.New(fault.Unavailable, "ARTIFACT_STORE_FAILED", "the artifact store could not %s what it was asked to", did).Because(err)
}

func (s *store) prepare() error {
	for _, d := range []string{tempFolder, "sha256"} {
		if err := s.root.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	if err := s.sync("."); err != nil {
		return err
	}
	remains, err := fs.ReadDir(s.root.FS(), tempFolder)
	if err != nil {
		return err
	}
	for _, e := range remains {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > oldRemains {
			s.root.Remove(path.Join(tempFolder, e.Name()))
		}
	}
	return nil
}

// Close releases the folder. Readers that are open stay usable.
func (s *store) Close() error { return s.root.Close() }

// place is the file of a digest.
func place(sum string) string { return path.Join("sha256", sum[:2], sum) }

// Put keeps what r gives. Content that is there already is written over by the
// same bytes, which mends a damaged copy.
func (s *store) Put(ctx context.Context, r io.Reader) (artifact.Stored, error) {
	temp := path.Join(tempFolder, rand.Text())
	stored, err := s.write(ctx, temp, r)
	if err == nil {
		err = s.settle(temp, place(stored.SHA256))
	}
	if err == nil {
		return stored, nil
	}
	s.root.Remove(temp)
	if ctx.Err() != nil {
		return artifact.Stored{}, context.Cause(ctx)
	}
	var told *readError
	if errors.As(err, &told) {
		return artifact.Stored{}, told.error
	}
	return artifact.Stored{}, failed("keep", err)
}

// write fills the temporary file, makes it durable and tells its digest.
func (s *store) write(ctx context.Context, temp string, r io.Reader) (stored artifact.Stored, err error) {
	file, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return stored, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, h), &source{ctx, r})
	if err != nil {
		return stored, err
	}
	return artifact.Stored{SHA256: hex.EncodeToString(h.Sum(nil)), Size: n}, file.Sync()
}

// settle gives the file its name, durably.
func (s *store) settle(temp, to string) error {
	dir := path.Dir(to)
	err := s.root.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err == nil {
		if err := s.sync(path.Dir(dir)); err != nil {
			return err
		}
	}
	if err := s.root.Rename(temp, to); err != nil {
		return err
	}
	return s.sync(dir)
}

// sync makes the names in a folder durable, where the system can.
func (s *store) sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

// Open reads an artifact. Its bytes are checked as they pass: a reader that saw
// io.EOF saw the right ones, all of them.
func (s *store) Open(ctx context.Context, sum string) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(sum) != hex.EncodedLen(sha256.Size) || strings.Trim(sum, "0123456789abcdef") != "" {
		return nil, artifact.ErrNotFound.Saying("%.80q is no artifact's digest", sum)
	}
	file, err := s.root.Open(place(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, artifact.ErrNotFound.Saying("no artifact has the digest %s", sum)
	}
	if err != nil {
		return nil, failed("open", err)
	}
	return &checked{file: file, sum: sum, hash: sha256.New()}, nil
}
