package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Verify reads a backup through and compares all digests.
func Verify(ctx context.Context, file string) (Manifest, error) {
	return walk(ctx, file, func(Manifest) error { return nil }, func(Member, io.Reader) error { return nil })
}

// walk reads a backup from its beginning to its end: the manifest goes to begin, and
// each member's bytes to visit, which may leave some unread. Sizes are those of the
// manifest; whoever keeps what visit was given must not use it before walk gave no
// error. Errors of begin and visit end it as they are.
func walk(ctx context.Context, file string, begin func(Manifest) error, visit func(Member, io.Reader) error) (Manifest, error) {
	f, err := os.Open(file)
	if err != nil {
		return Manifest{}, fault.New(fault.InvalidArgument, "BACKUP_UNREADABLE", "the backup %s cannot be read (%s)", file, word(err)).Because(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Manifest{}, fault.New(fault.InvalidArgument, "BACKUP_UNREADABLE", "%s is no file", file).Because(err)
	}
	z, err := gzip.NewReader(&cancellable{ctx, f})
	if errors.Is(err, gzip.ErrHeader) {
		return Manifest{}, notABackup(err)
	}
	if err != nil {
		return Manifest{}, broken(err)
	}
	r := &reading{ctx: ctx, unpacked: z, tar: tar.NewReader(z)}
	m, err := r.manifest()
	if err != nil {
		return m, err
	}
	if err := begin(m); err != nil {
		return m, err
	}
	for _, member := range m.Members {
		if err := r.member(member, visit); err != nil {
			return m, err
		}
	}
	return m, r.end()
}

// reading is the state of one walk.
type reading struct {
	ctx      context.Context
	unpacked io.Reader
	tar      *tar.Reader
}

func (r *reading) manifest() (Manifest, error) {
	h, err := r.tar.Next()
	switch {
	case errors.Is(err, tar.ErrHeader), err == nil && h.Name != manifestName, errors.Is(err, io.EOF):
		return Manifest{}, notABackup(err)
	case err != nil:
		return Manifest{}, broken(err)
	case h.Size > largestManifest:
		return Manifest{}, altered("its manifest is larger than any can be")
	}
	data, err := io.ReadAll(r.tar)
	if err != nil {
		return Manifest{}, broken(err)
	}
	return parse(data)
}

// member reads the next member, which must be the one that the manifest has next.
func (r *reading) member(m Member, visit func(Member, io.Reader) error) error {
	h, err := r.tar.Next()
	switch {
	case errors.Is(err, io.EOF):
		return altered("%s is missing", m.Name)
	case err != nil:
		return broken(err)
	case h.Typeflag != tar.TypeReg || h.Name != m.Name || h.Size != m.Size:
		return altered("it has %.100q of %d bytes where its manifest has %s of %d", h.Name, h.Size, m.Name, m.Size)
	}
	sum := sha256.New()
	var failed error
	bytes := io.TeeReader(noting{r.tar, &failed}, sum)
	err = visit(m, bytes)
	if failed != nil {
		return broken(failed)
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, bytes); err != nil {
		return broken(err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != m.SHA256 {
		return altered("the bytes of %s do not match their digest", m.Name)
	}
	return nil
}

// end sees to it that nothing follows, and that the file's own checksum is right.
func (r *reading) end() error {
	if h, err := r.tar.Next(); err == nil {
		return altered("it has %.100q, which its manifest does not name", h.Name)
	} else if !errors.Is(err, io.EOF) {
		return broken(err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r.unpacked, 1<<20))
	if err != nil {
		return broken(err)
	}
	if n == 1<<20 {
		return altered("something follows its end")
	}
	return nil
}

// broken is the fault for bytes that cannot be unpacked.
func broken(err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return truncated(err)
	}
	return altered("its bytes cannot be unpacked").Because(err)
}

// noting remembers an error of the reader, to tell it from one of whoever reads.
type noting struct {
	r      io.Reader
	failed *error
}

func (n noting) Read(b []byte) (int, error) {
	c, err := n.r.Read(b)
	if err != nil && err != io.EOF {
		*n.failed = err
	}
	return c, err
}

// cancellable ends with its context.
type cancellable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancellable) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, fmt.Errorf("stopped: %w", context.Cause(c.ctx))
	}
	return c.r.Read(b)
}
