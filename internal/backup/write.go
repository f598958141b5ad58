package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
)

// Source is what a backup is made of.
type Source struct {
	Dir     string // the data folder
	Version string // of this cadre
	Store   string // the database driver's name
	// Database writes a copy of the database to a new file. With External, it only says
	// what the database holds, and the archive has none.
	Database func(ctx context.Context, to string) (store.Copied, error)
	External bool
	// Artifacts opens the data folder's artifact store.
	Artifacts func(ctx context.Context, dir string) (artifact.Store, error)
	Now       time.Time
}

// Write makes a backup and gives it the name out, which must not exist yet.
func Write(ctx context.Context, s Source, out string) (Manifest, error) {
	if _, err := os.Lstat(out); err == nil {
		return Manifest{}, fault.New(fault.AlreadyExists, "BACKUP_EXISTS", "%s exists already: name another file with --out", out)
	}
	sweep(filepath.Dir(out))
	temp, done, err := workshop(filepath.Dir(out))
	if err != nil {
		return Manifest{}, cannotWrite(out, err)
	}
	defer done()
	w := &writing{Source: s, temp: temp, m: Manifest{Format: Format, Cadre: s.Version, CreatedAt: s.Now.UTC(), Store: s.Store, Keys: []Key{}}}
	defer w.close()
	for _, step := range []func(context.Context) error{w.keys, w.database, w.settings, w.artifacts, w.archive} {
		if err := step(ctx); err != nil {
			return Manifest{}, cannotWrite(out, err)
		}
	}
	failpoint.Hit("backup.archived")
	if err := publish(filepath.Join(temp, "archive"), out); err != nil {
		return Manifest{}, cannotWrite(out, err)
	}
	return w.m, nil
}

// publish gives a finished file its name, durably. It replaces none.
func publish(from, to string) error {
	switch err := os.Link(from, to); {
	case err == nil:
		_ = os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return err
	default:
		if err := os.Rename(from, to); err != nil { // a disk without links
			return err
		}
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// cannotWrite says why, unless the error says so itself.
func cannotWrite(out string, err error) error {
	var f *fault.Fault
	switch {
	case errors.As(err, &f) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.New(fault.ResourceExhausted, "DISK_FULL", "there is no space left for the backup %s, and nothing of it was kept: free some space, or name another place with --out", out).Because(err)
	}
	return fault.New(fault.FailedPrecondition, "BACKUP_FAILED", "the backup %s cannot be written (%s): name another place with --out", out, word(err)).Because(err)
}

// word is the system's own word for an error, without paths.
func word(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err.Error()
	}
	return err.Error()
}

// writing is a backup in the making.
type writing struct {
	Source
	temp string
	m    Manifest
	sums []string       // of the artifacts that the database refers to
	kept artifact.Store // nil before they are looked at
}

func (w *writing) close() {
	if w.kept != nil {
		_ = w.kept.Close()
	}
}

func (w *writing) keys(context.Context) error {
	for _, name := range config.KeyFiles {
		mark, err := config.Fingerprint(w.Dir, name)
		if err != nil {
			return err
		}
		if mark != "" {
			w.m.Keys = append(w.m.Keys, Key{name, mark})
		}
	}
	return nil
}

func (w *writing) database(ctx context.Context) error {
	file := filepath.Join(w.temp, databaseName)
	c, err := w.Database(ctx, file)
	if err != nil {
		return err
	}
	w.m.Database, w.m.Newest, w.sums = c.Database, c.Newest, c.Artifacts
	if w.External {
		return nil
	}
	w.m.Schema = c.Schema
	return w.measure(databaseName, func() (io.ReadCloser, error) { return os.Open(file) })
}

func (w *writing) settings(context.Context) error {
	for _, name := range settings {
		data, err := os.ReadFile(filepath.Join(w.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && len(data) > largestSetting {
			err = fmt.Errorf("%s has more than %d bytes", name, largestSetting)
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.temp, name), data, 0o600); err != nil {
			return err
		}
		if err := w.measure(path.Join(settingsFolder, name), func() (io.ReadCloser, error) { return os.Open(filepath.Join(w.temp, name)) }); err != nil {
			return err
		}
	}
	return nil
}

// artifacts looks at each before the archive begins: one that is gone or damaged is
// told, and keeps nothing else from being kept.
func (w *writing) artifacts(ctx context.Context) (err error) {
	if w.kept, err = w.Artifacts(ctx, w.Dir); err != nil {
		return err
	}
	for _, sum := range w.sums {
		err := w.measure(path.Join(artifactFolder, sum), func() (io.ReadCloser, error) { return w.kept.Open(ctx, sum) })
		switch {
		case errors.Is(err, artifact.ErrNotFound), errors.Is(err, artifact.ErrCorrupt):
			w.m.Lost = append(w.m.Lost, sum)
		case err != nil:
			return err
		}
	}
	return nil
}

// measure reads a member through and adds it to the manifest.
func (w *writing) measure(name string, open func() (io.ReadCloser, error)) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return err
	}
	w.m.Members = append(w.m.Members, Member{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))})
	return nil
}

// archive writes the file, and syncs it.
func (w *writing) archive(ctx context.Context) (err error) {
	f, err := os.OpenFile(filepath.Join(w.temp, "archive"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	head, err := json.MarshalIndent(w.m, "", " ")
	if err == nil && len(head) > largestManifest {
		err = fmt.Errorf("it would have %d members, more than one archive can hold", len(w.m.Members))
	}
	if err != nil {
		return err
	}
	if err := w.member(t, Member{Name: manifestName, Size: int64(len(head))}, strings.NewReader(string(head))); err != nil {
		return err
	}
	for _, m := range w.m.Members {
		if err := w.copyMember(ctx, t, m); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close(), f.Sync())
}

func (w *writing) copyMember(ctx context.Context, t *tar.Writer, m Member) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var r io.ReadCloser
	var err error
	if m.artifact() {
		r, err = w.kept.Open(ctx, m.SHA256)
	} else {
		r, err = os.Open(filepath.Join(w.temp, path.Base(m.Name)))
	}
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return w.member(t, m, r)
}

func (w *writing) member(t *tar.Writer, m Member, r io.Reader) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: m.Name, Size: m.Size, Mode: 0o600, ModTime: w.m.CreatedAt.Truncate(time.Second), Format: tar.FormatPAX}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(t, r)
	return err
}
