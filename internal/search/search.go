// Package search is the seam to the search index: what can be asked, what is
// answered, and how the index follows the resources.
//
// A document is made of a resource by its kind's extractor. Words are cut, folded and
// written in ASCII here (see Words), so that every database finds the same: there is no
// stemming, and no database's own idea of a word. Drivers keep documents and find them.
//
// Promises: a search sees every change that was acknowledged before it began, unless
// the indexer is more than a second behind. Lists are counted exactly. Of a search,
// total and counts are exact as long as no more than Candidates documents fit; beyond
// that the newest Candidates are ranked, with as many of those that fit by name or
// label, and Result.More says so. Pages end with what was ranked.
//
// The index holds no truth. It is filled anew when the extractors change, into a
// second set of tables, while the first one answers.
package search

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Bounds of what is asked.
const (
	MaxQuery    = 500 // characters
	DefaultSize = 20
	MaxSize     = 100
	// Candidates is how many documents a search ranks at most, once by name and label
	// and once by all words.
	Candidates = 200
)

// Criteria are what is asked. Drivers get them normalised: see Normalise.
type Criteria struct {
	Query string // "" lists, the newest first
	// Org is the organization; "" is every one.
	Org string
	// Kinds are storage names; none means all.
	Kinds []string
	Page  int // from 1
	Size  int
	// ExcludePublic leaves out what is public.
	ExcludePublic bool
	// CrossOrgPublic also finds what is public in other organizations.
	CrossOrgPublic bool
}

// Hit is one document that was found.
type Hit struct {
	Kind, ID, Org, Slug, Name, Description, Visibility string

	Tags      []string
	Session   string // the session that it belongs to; "" for none
	CreatedAt time.Time
	Score     float64 // above 0, at most 1; 1 in lists
	// Snippet is the passage with the found words, between Mark and EndMark; "" when
	// neither description nor text has one.
	Snippet string
}

// Result is one page.
type Result struct {
	Hits   []Hit
	Total  int64
	Counts map[string]int64 // by kind; kinds without hits are absent
	Page   int
	Size   int
	More   bool // there are more than Total and Counts say
}

// Slot is one of the two sets of tables: one answers, the other is filled or empty.
type Slot string

// The slots.
const (
	SlotA Slot = "a"
	SlotB Slot = "b"
)

// SlotOf is where a generation lives.
func SlotOf(generation int64) Slot {
	if generation%2 == 0 {
		return SlotA
	}
	return SlotB
}

// Key names a document.
type Key struct{ Kind, ID string }

// Index is a driver: tables of documents in the database of the store. It is safe for
// concurrent use; what it writes belongs to the caller's transaction.
type Index interface {
	// Search answers normalised criteria.
	Search(q sqldb.Querier, slot Slot, c Criteria) (Result, error)
	// Write stores documents, each in the place of one with the same kind and id, and
	// takes others out. It writes nothing for a document that is there with the same digest.
	Write(tx sqldb.Tx, slot Slot, put []Document, gone []Key) error
	// Bulk bounds one transaction of a rebuild, in documents and in bytes of their texts:
	// others wait for it.
	Bulk() (documents, bytes int)
	// Clear takes up to limit documents out and says whether there may be more.
	Clear(tx sqldb.Tx, slot Slot, limit int) (more bool, err error)
	// Empty tells whether a slot holds nothing.
	Empty(q sqldb.Querier, slot Slot) (bool, error)
	// Finish is called before a filled slot answers, in transactions of their own, until it
	// says that no more is to be done.
	Finish(tx sqldb.Tx, slot Slot) (more bool, err error)
}

// Database is what the index lives in: that of the store, which tells when there is
// something to index.
type Database interface {
	sqldb.DB
	// OnChange names the function that is called after each change of what can be found.
	OnChange(func())
}

// Searcher answers searches.
type Searcher interface {
	// Search answers one page. QUERY_TOO_LONG is the fault of a query beyond MaxQuery.
	Search(ctx context.Context, c Criteria) (Result, error)
}
