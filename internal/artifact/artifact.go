// Package artifact is the seam to the store of large results. Content is named
// by its SHA-256, so writing the same bytes twice keeps one copy.
//
// Delivery: when Put returns, the bytes are durable. Safe for concurrent use.
package artifact

import (
	"context"
	"io"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Stored tells what was kept.
type Stored struct {
	SHA256 string // lower-case hexadecimal
	Size   int64
}

// Store keeps bytes.
type Store interface {
	// Put keeps what r gives.
	Put(ctx context.Context, r io.Reader) (Stored, error)
	// Open reads it again and must be closed. ErrNotFound for an unknown digest,
	// ErrCorrupt (on read) when the bytes no longer match it.
	Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
	// Close releases the store.
	Close() error
}

// Registration adds a driver to the standard list.
type Registration struct {
	Name string
	Open func(ctx context.Context, dataDir string) (Store, error)
}

// Errors of the seam, matched by code and reason.
var (
	ErrNotFound = fault.New(fault.NotFound, "ARTIFACT_NOT_FOUND", "no such artifact")
	ErrCorrupt  = fault.New(fault.Internal, "ARTIFACT_CORRUPT", "the artifact's bytes do not match its digest")
)
