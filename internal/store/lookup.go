package store

import (
	"context"

	"github.com/cadre-dev/cadre/internal/resource"
)

// Lookups finds rows by what stands in them. Rows come in the order of their ids;
// the next page begins after the last id of the one before. The bytes are those
// that were stored, also of fields that this release does not know.
type Lookups interface {
	// FindByField answers rows of a kind whose field has a value. The path and what
	// it answers are those of resource.FieldValue: parts are looked up as written, then in
	// snake case, and what cannot be reached is "". It reads the kind's rows one after the
	// other: what is asked often belongs into the kind's index. UNKNOWN_KIND for a
	// kind whose message this program does not know.
	FindByField(ctx context.Context, kind resource.Kind, path, value string, p Span) ([]Row, error)
	// FindByLabel answers rows of a kind that have a label with a value, by an index.
	// A value of "" finds only rows that have the label.
	FindByLabel(ctx context.Context, kind resource.Kind, key, value string, p Span) ([]Row, error)
}

// Span is a part of an ordered answer.
type Span struct {
	Org   string // "" means every organization
	After string // the last id of the part before; "" for the first
	Limit int    // must be positive
}
