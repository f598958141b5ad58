package searchtest

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// FuzzQuery looks for anything, in documents that hold it: no query is an error, scores
// stay in their range, and a document is found by its own words.
func FuzzQuery(f *testing.F, db Store, index search.Index) {
	for _, query := range Nasty {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", " ")
		d := search.Document{Kind: "agent", ID: "agt_1", Org: "default", Slug: "one", Text: text, Visibility: "org", CreatedAt: epoch}
		if err := db.Write(context.Background(), "fuzz", "", func(tx sqldb.Tx) error {
			return index.Write(tx, search.SlotA, []search.Document{d}, nil)
		}); err != nil {
			t.Fatalf("%q cannot be kept: %v", text, err)
		}
		res, err := index.Search(db.Read(context.Background()), search.SlotA, search.Criteria{Query: text, Page: 1, Size: 20})
		if err != nil {
			t.Fatalf("%q cannot be looked for: %v", text, err)
		}
		if len(search.ParseQuery(text).Words) > 0 && strings.TrimSpace(text) != "" && res.Total != 1 {
			t.Fatalf("%q does not find itself", text)
		}
		for _, h := range res.Hits {
			if h.Score <= 0 || h.Score > 1 || !utf8.ValidString(h.Snippet) {
				t.Fatalf("%q is found as %+v", text, h)
			}
		}
	})
}
