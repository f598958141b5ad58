package search

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/fault"
)

// freshTime bounds how long a search waits for the indexer.
const freshTime = time.Second

// Finder answers searches from the index.
type Finder struct {
	db    Database
	index Index
	known *Registry
	fresh func(context.Context) // waits for what is dirty now
}

// NewFinder makes one. The indexer keeps what it reads up to date.
func NewFinder(i *Indexer) *Finder { return &Finder{i.db, i.index, i.known, i.Fresh} }

// Normalise checks and completes criteria. known tells which kinds are searchable;
// none says that kinds were asked for and none of them is.
func Normalise(c Criteria, known func(kind string) bool) (n Criteria, none bool, err error) {
	c.Query = strings.TrimSpace(c.Query)
	if length := utf8.RuneCountInString(c.Query); length > MaxQuery {
		return c, false, fault.New(fault.InvalidArgument, "QUERY_TOO_LONG", "the query has %d characters, and at most %d can be looked for: leave words out", length, MaxQuery)
	}
	c.Page = max(1, c.Page)
	if c.Size < 1 {
		c.Size = DefaultSize
	}
	c.Size = min(c.Size, MaxSize)
	asked := len(c.Kinds) > 0
	c.Kinds = slices.DeleteFunc(slices.Clone(c.Kinds), func(k string) bool { return !known(k) })
	slices.Sort(c.Kinds)
	c.Kinds = slices.Compact(c.Kinds)
	return c, asked && len(c.Kinds) == 0, nil
}

// Search answers one page.
func (f *Finder) Search(ctx context.Context, c Criteria) (Result, error) {
	c, none, err := Normalise(c, f.known.Has)
	if err != nil {
		return Result{}, err
	}
	if none || c.Query != "" && len(ParseQuery(c.Query).Words) == 0 {
		return Empty(c), nil
	}
	st, pending, err := readState(f.db.Read(ctx))
	if err != nil {
		return Result{}, err
	}
	if pending {
		f.fresh(ctx)
		if st, _, err = readState(f.db.Read(ctx)); err != nil {
			return Result{}, err
		}
	}
	if len(c.Kinds) == 0 && st.extractors != f.known.Digest() {
		c.Kinds = f.known.Kinds() // the index may still hold others
	}
	return f.index.Search(f.db.Read(ctx), SlotOf(st.current), c)
}

// Empty is the page of criteria that nothing fits.
func Empty(c Criteria) Result {
	return Result{Page: c.Page, Size: c.Size, Counts: map[string]int64{}}
}
