package searchtest

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// Resources is how many a benchmark has.
const Resources = 100_000

// vocabulary is made of syllables, so that many words begin alike.
func vocabulary(r *rand.Rand, n int) []string {
	syllables := strings.Fields("ba be bi bo ca ce con da de di do fa fe ga ge in ka ke la le li lo ma me mi mo na ne no pa pe pre pro ra re ri ro run sa se si so sta ta te ti to tra un va ve")
	seen := map[string]bool{}
	var all []string
	for len(all) < n {
		w := ""
		for range 2 + r.IntN(4) {
			w += syllables[r.IntN(len(syllables))]
		}
		if !seen[w] {
			seen[w] = true
			all = append(all, w)
		}
	}
	return all
}

// Bench fills a database and measures, for each kind of question, how long the middle
// one and the slowest of a hundred take. It prints what it measured and asserts nothing.
func Bench(b *testing.B, open Open, index func() search.Index) {
	db := open(b)()
	r := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(r, 20_000)
	often := rand.NewZipf(r, 1.1, 20, uint64(len(words)-1))
	began := time.Now()
	ids := fillResources(b, db, r, words, often)
	b.Logf("%d resources stored after %s", Resources, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	i := search.NewIndexer(search.Options{
		DB: db, Index: index(), Known: registry(extractors()), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	i.Start(b.Context())
	b.Cleanup(i.Stop)
	<-i.Filled()
	b.Logf("index filled after %s", time.Since(began).Round(time.Millisecond))

	finder := search.NewFinder(i)
	look := func(c search.Criteria) func(int) error {
		return func(int) error { _, err := finder.Search(b.Context(), c); return err }
	}
	some := func(make func() search.Criteria) func(int) error {
		return func(int) error { _, err := finder.Search(b.Context(), make()); return err }
	}
	for _, q := range []struct {
		name string
		do   func(n int) error
	}{
		{"get", func(n int) error { _, err := db.Get(b.Context(), agentKind, ids[r.IntN(len(ids))]); return err }},
		{"list page of the store", func(n int) error {
			_, err := db.List(b.Context(), store.Query{Kind: agentKind, Org: "default", Limit: 100, Order: []store.Order{{Column: store.Column{Name: "created_at"}, Desc: true}}})
			return err
		}},
		{"list page", look(search.Criteria{Org: "default"})},
		{"list page 500", look(search.Criteria{Org: "default", Page: 500})},
		{"list page of a small organization", look(search.Criteria{Org: "small"})},
		{"list of one kind", look(search.Criteria{Kinds: []string{"agent"}})},
		{"rare word", some(func() search.Criteria { return search.Criteria{Org: "default", Query: words[len(words)-1-r.IntN(500)]} })},
		{"middle word", some(func() search.Criteria { return search.Criteria{Org: "default", Query: words[1000+r.IntN(1000)]} })},
		{"common word", some(func() search.Criteria { return search.Criteria{Org: "default", Query: words[r.IntN(10)]} })},
		{"word of all", look(search.Criteria{Org: "default", Query: "everywhere"})},
		{"word of all, small organization", look(search.Criteria{Org: "small", Query: "everywhere"})},
		{"word of all, public elsewhere too", look(search.Criteria{Org: "small", Query: "everywhere", CrossOrgPublic: true})},
		{"two common words", some(func() search.Criteria {
			return search.Criteria{Org: "default", Query: words[r.IntN(10)] + " " + words[r.IntN(10)]}
		})},
		{"common and rare word", some(func() search.Criteria {
			return search.Criteria{Org: "default", Query: "everywhere " + words[len(words)-1-r.IntN(500)]}
		})},
		{"beginning of one letter", some(func() search.Criteria { return search.Criteria{Org: "default", Query: words[r.IntN(1000)][:1]} })},
		{"beginning of three letters", some(func() search.Criteria { return search.Criteria{Org: "default", Query: words[r.IntN(10000)][:3]} })},
		{"beginning of five letters", some(func() search.Criteria {
			w := words[r.IntN(10000)]
			return search.Criteria{Org: "default", Query: w[:min(len(w), 5)]}
		})},
		{"beginning of a word of all", look(search.Criteria{Org: "default", Query: "everyw"})},
		{"no such word", look(search.Criteria{Org: "default", Query: "xyzzy"})},
		{"name of one", func(n int) error {
			_, err := finder.Search(b.Context(), search.Criteria{Query: fmt.Sprintf("agent %d", r.IntN(Resources))})
			return err
		}},
		{"change of one", func(int) error {
			n := r.IntN(Resources)
			d := search.Document{Kind: "agent", ID: ids[n], Org: "default", Slug: fmt.Sprintf("agent-%d", n), Visibility: "org", CreatedAt: epoch.Add(time.Duration(n) * 7 * time.Second)}
			for range 60 {
				d.Text += words[often.Uint64()] + " "
			}
			return db.Write(b.Context(), "change", "", func(tx sqldb.Tx) error { return index().Write(tx, search.SlotOf(2), []search.Document{d}, nil) })
		}},
	} {
		b.Run(strings.ReplaceAll(q.name, " ", "_"), func(b *testing.B) { measure(b, q.do) })
	}
}

// measure runs a question at least 300 times and reports the 50th and 99th percentile.
func measure(b *testing.B, do func(n int) error) {
	took := make([]time.Duration, 0, 300)
	used := processTime()
	for n := range max(b.N, 300) {
		began := time.Now()
		if err := do(n); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	used = processTime() - used
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(used.Seconds()*1000/float64(len(took)), "cpu-ms") // of this process, which the load of others changes less
}

// processTime is the processor time of this process.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fillResources stores agents as rows, without marks of changes.
func fillResources(b *testing.B, db Store, r *rand.Rand, words []string, often *rand.Zipf) []string {
	b.Helper()
	ids := make([]string, 0, Resources)
	for len(ids) < Resources {
		err := db.Write(context.Background(), "fill", "", func(tx sqldb.Tx) error {
			for range 1000 {
				n := len(ids)
				ids = append(ids, id.New("agt"))
				if err := insertAgent(tx, ids[n], n, r, words, often); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return ids
}

func insertAgent(tx sqldb.Tx, id string, n int, r *rand.Rand, words []string, often *rand.Zipf) error {
	text := []string{"everywhere"}
	for range 60 {
		text = append(text, words[often.Uint64()])
	}
	org := "default"
	if n%1000 == 0 {
		org = "small"
	}
	visibility := resourcev1.Visibility_org
	if n%100 == 7 {
		visibility = resourcev1.Visibility_public
	}
	at := epoch.Add(time.Duration(n) * 7 * time.Second)
	m := &agentv1.Agent{
		Metadata: &resourcev1.Metadata{
			Id: id, Org: org, Slug: fmt.Sprintf("agent-%d", n), Name: fmt.Sprintf("Agent %d %s", n, words[r.IntN(len(words))]), Visibility: visibility,
			Labels: map[string]string{"team": words[r.IntN(50)]},
			Audit:  &resourcev1.Audit{Created: &resourcev1.AuditEntry{At: timestamppb.New(at)}},
		},
		Spec: &agentv1.AgentSpec{Description: strings.Join(text[1:8], " "), Instructions: strings.Join(text, " ")},
	}
	data, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO resources (kind, id, org, slug, name, visibility, version, created_at, updated_at, i1, i2, i3, i4, data)
		VALUES ('agent', ?, ?, ?, ?, ?, 1, ?, ?, '', '', '', '', ?)`, id, org, m.Metadata.Slug, m.Metadata.Name, visibility.String(), sqldb.Stamp(at), sqldb.Stamp(at), data)
}
