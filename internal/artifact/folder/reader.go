package folder

import (
	"context"
	"encoding/hex"
	"hash"
	"io"
	"os"

	"github.com/cadre-dev/cadre/internal/artifact"
)

// source reads for Put: it ends with its context, and marks the giver's errors,
// which are not the store's.
type source struct {
	ctx context.Context
	r   io.Reader
}

// readError is an error of the reader that Put was given.
type readError struct{ error }

func (s *source) Read(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		err = &readError{err}
	}
	return n, err
}

// checked compares what was read with the digest when it comes to the end.
type checked struct {
	file *os.File
	sum  string
	hash hash.Hash
}

// Read gives ErrCorrupt in place of io.EOF when the bytes were not the right ones.
func (c *checked) Read(b []byte) (int, error) {
	n, err := c.file.Read(b)
	c.hash.Write(b[:n])
	switch {
	case err == nil:
		return n, nil
	case err != io.EOF:
		return n, failed("read", err)
	case hex.EncodeToString(c.hash.Sum(nil)) != c.sum:
		return n, artifact.ErrCorrupt.Saying("the artifact %s is damaged: its bytes do not match its digest", c.sum)
	}
	return n, io.EOF
}

// Close frees the file.
func (c *checked) Close() error { return c.file.Close() }
