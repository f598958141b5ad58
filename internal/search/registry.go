package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
)

// format is raised when the same documents are to be kept in another way: with other
// words, or in other tables.
const format = 1

// Registry knows which kinds are searchable. Fill it before use; reading it is safe
// for concurrent use.
type Registry struct{ kinds map[string]searchable }

// NewRegistry makes an empty one.
func NewRegistry() *Registry { return &Registry{map[string]searchable{}} }

// Add registers a kind by its storage name. A kind without an extractor is no error: it
// cannot be found, which the log says.
func (r *Registry) Add(ctx context.Context, log *slog.Logger, kind string, new func() proto.Message, e *Extractor) {
	if e == nil {
		log.WarnContext(ctx, "kind cannot be searched: it has no extractor", "kind", kind)
		return
	}
	r.kinds[kind] = searchable{new, *e}
}

// Kinds are the searchable kinds, sorted.
func (r *Registry) Kinds() []string { return slices.Sorted(maps.Keys(r.kinds)) }

// Has tells whether a kind is searchable.
func (r *Registry) Has(kind string) bool { _, ok := r.kinds[kind]; return ok }

// Digest changes with the kinds and their extractors' versions.
func (r *Registry) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "format %d\n", format)
	for _, kind := range r.Kinds() {
		fmt.Fprintf(h, "%s %d\n", kind, r.kinds[kind].Version)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
