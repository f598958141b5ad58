package fts5_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/fts5"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// A slot that many transactions filled is in one piece at the end, and finds what it found.
func TestFinishMergesWhatManyTransactionsLeft(t *testing.T) {
	t.Parallel()
	db, index := open(t)(), fts5.New()
	write := func(fn func(sqldb.Tx) error) {
		t.Helper()
		if err := db.Write(t.Context(), "test", "", fn); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 60 {
		text := "tide"
		for w := range 200 {
			text += fmt.Sprintf(" word%d", n*w)
		}
		d := search.Document{Kind: "agent", ID: fmt.Sprintf("agt_%d", n), Org: "default", Slug: "one", Text: text, CreatedAt: time.Unix(int64(1.8e9)+int64(n), 0)}
		write(func(tx sqldb.Tx) error { return index.Write(tx, search.SlotA, []search.Document{d}, nil) })
	}
	pieces := func(name string) (n int) {
		t.Helper()
		if err := db.Read(t.Context()).Row("SELECT count(DISTINCT segid) FROM search_" + name + "_a_idx").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if pieces("terms") < 2 {
		t.Fatal("there is nothing to merge")
	}
	for steps, more := 0, true; more; steps++ {
		if steps == 1000 {
			t.Fatal("it does not end")
		}
		write(func(tx sqldb.Tx) (err error) {
			more, err = index.Finish(tx, search.SlotA)
			return err
		})
	}
	if titles, terms := pieces("titles"), pieces("terms"); titles != 1 || terms != 1 {
		t.Errorf("titles are in %d pieces and terms in %d", titles, terms)
	}
	res, err := index.Search(db.Read(t.Context()), search.SlotA, search.Criteria{Query: strings.ToUpper("tide word0"), Page: 1, Size: 20})
	if err != nil || res.Total != 60 {
		t.Errorf("%d of 60 are found, %v", res.Total, err)
	}
}
