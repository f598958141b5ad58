package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
)

// Version is one entry of a resource's history: its bytes as they were. An entry
// never changes; only the tags that point at it do.
type Version struct {
	Kind   resource.Kind
	ID     string // the resource's
	Number int64  // rises with each entry of one resource; of declared resources it is metadata.version.number
	Hash   string // of exactly these bytes, see VersionHash
	Data   []byte
	Tags   []string // that point here, sorted; filled in when it is read
	At     time.Time
}

// VersionHash is the SHA-256 of a version's bytes, in lower-case hexadecimal.
func VersionHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Versions keeps the history of resources. Create, Save and Update write it in
// their own transaction for kinds that declare `versioned`, whenever the row's
// version rises; Delete removes it with the resource.
type Versions interface {
	// SaveVersion adds an entry and answers it with its hash. A Number of 0 means one
	// more than the newest. VERSION_EXISTS when the number is not above the newest one.
	// The same bytes may be saved again: they are an entry of their own.
	SaveVersion(ctx context.Context, v Version) (Version, error)
	// VersionByHash answers the newest entry with these bytes. NotFound.
	VersionByHash(ctx context.Context, kind resource.Kind, id, hash string) (Version, error)
	// VersionByNumber answers one entry. NotFound.
	VersionByNumber(ctx context.Context, kind resource.Kind, id string, number int64) (Version, error)
	// VersionByTag answers the entry that holds a tag. NotFound.
	VersionByTag(ctx context.Context, kind resource.Kind, id, tag string) (Version, error)
	// TagVersion points a tag at the newest entry with a hash. A tag has one holder in
	// a resource's history: it moves at once, from the reader's view too. When there is
	// no such entry it stays where it is: NotFound.
	TagVersion(ctx context.Context, kind resource.Kind, id, hash, tag string) error
	// LatestVersion is the hash of the newest entry; "" without any.
	LatestVersion(ctx context.Context, kind resource.Kind, id string) (hash string, err error)
	// CountVersions counts a resource's entries.
	CountVersions(ctx context.Context, kind resource.Kind, id string) (int64, error)
	// ListVersions answers entries, the newest first, whose numbers are below before
	// (0: from the newest). limit must be positive.
	ListVersions(ctx context.Context, kind resource.Kind, id string, before int64, limit int) ([]Version, error)
	// DeleteVersions removes a resource's history with its tags and counts the entries.
	DeleteVersions(ctx context.Context, kind resource.Kind, id string) (int64, error)
}

// ErrVersionExists: the history already has an entry with this number or a higher one.
var ErrVersionExists = fault.New(fault.AlreadyExists, "VERSION_EXISTS", "the history already goes further")
