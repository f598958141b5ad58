package postings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/postings"
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/search/searchtest"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// world is an index and what it should hold.
type world struct {
	*testing.T
	r    *rand.Rand
	db   searchtest.Store
	docs map[search.Key]search.Document
}

// words are common and rare ones, many of which begin alike. The n-th is in about one of n documents.
func (w *world) words(n int) string {
	var all []string
	for i := range 60 {
		if w.r.IntN(i+1) == 0 {
			all = append(all, word(i))
		}
	}
	all = append(all, fmt.Sprintf("solo%05d", n))
	return strings.Join(all, " ")
}

func word(i int) string { return []string{"tide", "ebb", "water", "was"}[i%4] + fmt.Sprint(i) }

func (w *world) document(n int) search.Document {
	d := search.Document{
		Kind: []string{"agent", "session", "skill"}[w.r.IntN(20)/9], ID: fmt.Sprintf("doc_%05d", n), Org: []string{"default", "harbor"}[w.r.IntN(8)/7], Visibility: "org",
		Slug: word(w.r.IntN(60)), Text: w.words(n), CreatedAt: time.Date(2026, 1, 1, 0, 0, w.r.IntN(40_000), 0, time.UTC), // some at one moment
	}
	if w.r.IntN(10) == 0 {
		d.Visibility = "public"
	}
	return d
}

// write changes many documents in one transaction: new ones, others in their place, fewer.
func (w *world) write(first, n int) {
	w.Helper()
	var put []search.Document
	var gone []search.Key
	for i := first; i < first+n; i++ {
		put = append(put, w.document(i))
	}
	for key, d := range w.docs {
		switch w.r.IntN(10) {
		case 0:
			gone = append(gone, key)
			delete(w.docs, key)
		case 1:
			d.Text = w.words(1)
			put = append(put, d)
		case 2:
			var n int
			_, _ = fmt.Sscanf(key.ID, "doc_%d", &n)
			put = append(put, w.document(n))
			delete(w.docs, key)
			gone = append(gone, key)
			gone = gone[:len(gone)-1]
			if put[len(put)-1].Kind != key.Kind { // it is another document then
				gone = append(gone, key)
			}
		}
	}
	for _, d := range put {
		w.docs[search.Key{Kind: d.Kind, ID: d.ID}] = d
	}
	if err := w.db.Write(w.Context(), "test", "", func(tx sqldb.Tx) error { return postings.New().Write(tx, search.SlotA, put, gone) }); err != nil {
		w.Fatal(err)
	}
}

// numbers are those that documents have.
func (w *world) numbers() map[search.Key]int64 {
	w.Helper()
	all := map[search.Key]int64{}
	err := w.db.Read(w.Context()).Rows(func(r sqldb.Scanner) error {
		var k search.Key
		var docid int64
		err := r.Scan(&k.Kind, &k.ID, &docid)
		all[k] = docid
		return err
	}, "SELECT kind, id, docid FROM search_documents_a")
	if err != nil || len(all) != len(w.docs) {
		w.Fatalf("%d documents are there instead of %d, %v", len(all), len(w.docs), err)
	}
	return all
}

// fitting are the numbers of the documents that fit, the newest first.
func (w *world) fitting(numbers map[search.Key]int64, c search.Criteria, title bool) (all []int64) {
	q := search.ParseQuery(c.Query)
	for key, d := range w.docs {
		if c.Org != "" && d.Org != c.Org && !(c.CrossOrgPublic && d.Public() && !c.ExcludePublic) || c.ExcludePublic && d.Public() || len(c.Kinds) > 0 && !slices.Contains(c.Kinds, d.Kind) {
			continue
		}
		words := d.All()
		if title {
			words = d.Title()
		}
		fits := true
		for i, w := range q.Words {
			fits = fits && (slices.Contains(words, w) ||
				q.Open(i) && !search.Short(w) && slices.ContainsFunc(words, func(has string) bool { return strings.HasPrefix(has, w) }) ||
				q.Open(i) && search.Short(w) && slices.Contains(d.Beginnings(), search.Beginning(w)))
		}
		if fits {
			all = append(all, numbers[key])
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// criteria are any.
func (w *world) criteria() search.Criteria {
	c := search.Criteria{Org: []string{"", "default", "harbor"}[w.r.IntN(3)], CrossOrgPublic: w.r.IntN(3) == 0, ExcludePublic: w.r.IntN(4) == 0, Page: 1 + w.r.IntN(30), Size: 20}
	c.Kinds = [][]string{nil, nil, {"agent"}, {"session", "skill"}, {"skill"}}[w.r.IntN(5)]
	var words []string
	for range 1 + w.r.IntN(3) {
		words = append(words, word(w.r.IntN(1+w.r.IntN(60))))
	}
	switch last := len(words) - 1; w.r.IntN(4) {
	case 0:
		words[last] = words[last][:1+w.r.IntN(len(words[last]))]
	case 1:
		words[last] = fmt.Sprintf("solo%05d", w.r.IntN(3200))[:4+w.r.IntN(6)]
	}
	c.Query = strings.Join(words, " ")
	return c
}

// Whatever is asked, after whatever changes, the lists find what looking at every document
// finds.
func TestListsFindWhatLookingAtAllFinds(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &world{t, rand.New(rand.NewPCG(seed, 1)), open(t)(), map[search.Key]search.Document{}}
	for first := 0; first < 3200; first += 800 {
		w.write(first, 800)
	}
	w.write(3200, 1)
	numbers := w.numbers()
	for range 200 {
		c := w.criteria()
		for _, title := range []bool{false, true} {
			want := w.fitting(numbers, c, title)
			got, more, err := postings.Newest(w.db.Read(t.Context()), search.SlotA, c, title)
			if most := min(len(want), search.Candidates); err != nil || !slices.Equal(got, want[:most]) || more != (len(want) > most) {
				t.Fatalf("%+v (title %v) found %d, more %v, %v; want the newest of %d", c, title, len(got), more, err, len(want))
			}
		}
		c.Query = ""
		want := w.fitting(numbers, c, false)
		from := int(min(relational.Offset(c), int64(len(want))))
		if got, err := postings.Page(w.db.Read(t.Context()), search.SlotA, c); err != nil || !slices.Equal(got, want[from:min(len(want), from+c.Size)]) {
			t.Fatalf("page %d of %+v is %v, %v; want %v", c.Page, c, got, err, want[from:min(len(want), from+c.Size)])
		}
	}
}

// What is taken out leaves nothing behind: no document, no text, no list.
func TestNothingIsLeftOfWhatIsGone(t *testing.T) {
	t.Parallel()
	w := &world{t, rand.New(rand.NewPCG(1, 1)), open(t)(), map[search.Key]search.Document{}}
	for first := 0; first < 1200; first += 400 {
		w.write(first, 400)
	}
	var gone []search.Key
	for key := range w.docs {
		gone = append(gone, key)
	}
	for part := range slices.Chunk(gone, 100) {
		if err := w.db.Write(t.Context(), "test", "", func(tx sqldb.Tx) error { return postings.New().Write(tx, search.SlotA, nil, part) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"search_documents_a", "search_texts_a", "search_postings_a WHERE documents > 0"} {
		var n int
		if err := w.db.Read(t.Context()).Row("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows are left in %s, %v", n, table, err)
		}
	}
}
