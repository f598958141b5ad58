package fts5_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/fts5"
	"github.com/cadre-dev/cadre/internal/search/searchtest"
)

// C140: whatever is looked for, FTS5 takes it for words.
func FuzzQuery(f *testing.F) { searchtest.FuzzQuery(f, open(f)(), fts5.New()) }

// C140
func TestAnOrganizationIsNoSyntax(t *testing.T) {
	t.Parallel()
	db := open(t)()
	for _, org := range []string{`"`, "*", "a b", "ü", "o:x", "a'"} {
		for _, query := range []string{"", "tide"} {
			res, err := fts5.New().Search(db.Read(t.Context()), search.SlotA, search.Criteria{Query: query, Org: org, Kinds: []string{org}, Page: 1, Size: 20})
			if err != nil || res.Total != 0 {
				t.Errorf("the organization %q with %q gave %+v, %v", org, query, res, err)
			}
		}
	}
}
