package searchtest

import (
	"fmt"
	"strings"
	"time"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

func findsWords(f *fixture) {
	f.add(
		thing{slug: "ledger-close", name: "Ledger Close", description: "Closes the books", text: "Each month: sum up, then close."},
		thing{slug: "tide-watch", labels: map[string]string{"team": "Harbour/7"}, text: "Größe und Café, naïve"},
		thing{slug: "kanji", text: "東京の天気"},
		thing{slug: "running", text: "runs_daily v2.10 mail@example.org"},
	)
	s := f.ready()
	for query, want := range map[string]string{
		"ledger": "ledger-close", "LEDGER close": "ledger-close", "ledg": "ledger-close", "led books": "", "books led": "ledger-close",
		"ledger-close": "ledger-close", "close ledger mon": "ledger-close", "ledger tide": "", "clos month": "",
		"harbour": "tide-watch", "team 7": "tide-watch", "grosse": "", "große": "tide-watch", "GROSSE": "", "größe": "tide-watch", "grö": "tide-watch",
		"cafe naive": "tide-watch", "CAFÉ": "tide-watch", "天気": "kanji", "京": "kanji", "東京 天": "kanji", "大": "",
		"le": "ledger-close", "ledger c": "ledger-close", "books cl": "ledger-close", "bo": "", "ka": "kanji", "ru": "running", "runs": "running", "runs dai": "running", "ledger t": "",
		"daily runs": "running", "v2 10": "running", "example.org": "running", "mail@exam": "running",
		`"ledger"`: "ledger-close", "ledger*": "ledger-close", "ledger OR": "",
	} {
		s.want(query, want)
	}
}

func scores(f *fixture) {
	f.add(
		thing{slug: "one", text: "salt"},
		thing{slug: "two", description: "salt"},
		thing{slug: "three", labels: map[string]string{"salt": "yes"}},
		thing{slug: "salty"},
		thing{slug: "salt-and-pepper"},
		thing{slug: "salt"},
		thing{slug: "four", text: "salt"},
	)
	s := f.ready()
	s.want("salt", "salt salt-and-pepper salty three two four one")
	last := 1.0
	for _, h := range s.find(search.Criteria{Query: "salt"}).Hits {
		if h.Score <= 0 || h.Score > last {
			f.Errorf("%s has the score %v after %v", h.Slug, h.Score, last)
		}
		last = h.Score
	}
	if got := s.find(search.Criteria{Query: "salt"}).Hits[0].Score; got != 1 {
		f.Errorf("the name itself has the score %v", got)
	}
}

func snippets(f *fixture) {
	f.add(
		thing{slug: "long", text: strings.Repeat("padding words ", 100) + "the needle\nlies ⟦here⟧ and the \x1bneedle there " + strings.Repeat("more words ", 100)},
		thing{slug: "short", description: "A Needle."},
		thing{slug: "needle"},
	)
	s := f.ready()
	for _, h := range s.find(search.Criteria{Query: "the needl"}).Hits {
		want := "the " + search.Mark + "needle" + search.EndMark + " lies here and"
		plain := strings.ReplaceAll(h.Snippet, search.Mark+"the"+search.EndMark, "the")
		if h.Slug == "long" && (!strings.Contains(plain, want) || strings.ContainsAny(h.Snippet, "\n\x1b") || len(h.Snippet) > 400 || !strings.HasPrefix(h.Snippet, "…") || !strings.HasSuffix(h.Snippet, "…")) {
			f.Errorf("the snippet is %q, want %q in one line", h.Snippet, want)
		}
	}
	for _, h := range s.find(search.Criteria{Query: "needle"}).Hits {
		if want := map[string]string{"short": "A ⟦Needle⟧.", "needle": ""}; h.Slug != "long" && h.Snippet != want[h.Slug] {
			f.Errorf("the snippet of %s is %q", h.Slug, h.Snippet)
		}
	}
}

func lists(f *fixture) {
	var want []string
	for n := range 45 {
		slug := fmt.Sprintf("a%02d", n)
		f.add(thing{slug: slug, labels: map[string]string{"n": slug}})
		want = append([]string{slug}, want...)
	}
	s := f.ready()
	var got []string
	for page := 1; page <= 4; page++ {
		res := s.find(search.Criteria{Page: page})
		for _, h := range res.Hits {
			got = append(got, h.Slug)
			if h.Score != 1 || h.Kind != "agent" || h.Org != "default" || h.Visibility != "org" || len(h.Tags) != 1 || h.Tags[0] != "n="+h.Slug || h.CreatedAt.IsZero() || h.ID == "" {
				f.Errorf("a hit is %+v", h)
			}
		}
		if res.Total != 45 || res.Counts["agent"] != 45 || len(res.Counts) != 1 || res.Page != page || res.Size != 20 || res.More {
			f.Errorf("page %d says %+v", page, res)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		f.Errorf("the pages are %v", got)
	}
	for _, c := range []struct{ page, size, wantPage, wantSize, hits int }{{0, 0, 1, 20, 20}, {-3, -1, 1, 20, 20}, {1, 1000, 1, 100, 45}, {9, 5, 9, 5, 5}, {1 << 30, 100, 1 << 30, 100, 0}} {
		for _, query := range []string{"", "a"} {
			res := s.find(search.Criteria{Query: query, Page: c.page, Size: c.size})
			if res.Page != c.wantPage || res.Size != c.wantSize || len(res.Hits) != c.hits || res.Total != 45 {
				f.Errorf("page %d of %d of %q is page %d of %d with %d hits of %d", c.page, c.size, query, res.Page, res.Size, len(res.Hits), res.Total)
			}
		}
	}
}

// C137
func organizations(f *fixture) {
	for _, org := range []string{"harbor", "harbor-two", "default"} {
		f.add(thing{org: org, slug: "in-" + org, text: "tide"}, thing{org: org, slug: "other-" + org, text: "ebb"})
	}
	s := f.ready()
	for _, query := range []string{"", "tide", "in"} {
		for org, want := range map[string]string{"harbor": "in-harbor", "harbor-two": "in-harbor-two", "harbo": "", "": "in-harbor in-harbor-two in-default", `x" OR "o:harbor`: "", "x' | 'o:harbor": ""} {
			if query == "" {
				want = strings.TrimSpace(want + " " + strings.ReplaceAll(want, "in-", "other-"))
			}
			c := search.Criteria{Query: query, Org: org}
			s.wantAny(c, want)
			if res := s.find(c); res.Total != int64(len(strings.Fields(want))) || res.Counts["agent"] != res.Total {
				f.Errorf("%+v counts %d, %v", c, res.Total, res.Counts)
			}
		}
	}
}

// C138
func public(f *fixture) {
	f.add(
		thing{org: "home", slug: "mine", text: "tide"},
		thing{org: "home", slug: "shown", text: "tide", visibility: resourcev1.Visibility_public},
		thing{org: "home", slug: "hidden", text: "tide", visibility: resourcev1.Visibility_private},
		thing{org: "away", slug: "foreign", text: "tide"},
		thing{org: "away", slug: "open", text: "tide", visibility: resourcev1.Visibility_public},
	)
	s := f.ready()
	for _, query := range []string{"", "tide"} {
		for _, c := range []struct {
			exclude, cross bool
			want           string
		}{{false, false, "mine shown hidden"}, {true, false, "mine hidden"}, {false, true, "mine shown hidden open"}, {true, true, "mine hidden"}} {
			q := search.Criteria{Query: query, Org: "home", ExcludePublic: c.exclude, CrossOrgPublic: c.cross}
			s.wantAny(q, c.want)
			if res := s.find(q); res.Total != int64(len(strings.Fields(c.want))) {
				f.Errorf("%+v counts %d", q, res.Total)
			}
		}
	}
}

func kinds(f *fixture) {
	f.add(thing{slug: "one", text: "tide"}, thing{slug: "two", text: "tide"})
	session, execution := f.begin("the tide", "")
	s := f.ready()
	all := "one two " + execution
	for _, c := range []struct {
		kinds []string
		want  string
	}{
		{nil, all},
		{[]string{"agent"}, "one two"},
		{[]string{"agent", "agent", "memory", "agent_execution"}, all},
		{[]string{"session"}, ""},
		{[]string{"memory", "api_key"}, ""}, // none is searchable: nothing, and not everything
	} {
		s.wantAny(search.Criteria{Query: "tide", Kinds: c.kinds}, c.want)
	}
	s.wantAny(search.Criteria{}, all+" "+session)
	s.wantAny(search.Criteria{Kinds: []string{"session"}}, session)
	s.wantAny(search.Criteria{Kinds: []string{"memory"}}, "")
	res := s.find(search.Criteria{Query: "tide", Kinds: []string{"agent_execution", "agent"}, Size: 1})
	if res.Total != 3 || res.Counts["agent"] != 2 || res.Counts["agent_execution"] != 1 || len(res.Hits) != 1 {
		f.Errorf("the counts are %+v", res)
	}
}

func nothing(f *fixture) {
	s := f.ready()
	for _, query := range []string{"", "tide", "   ", "…", "*", `"`} {
		if res := s.find(search.Criteria{Query: query}); res.Total != 0 || len(res.Hits) != 0 || res.Page != 1 || res.Size != 20 {
			f.Errorf("%q in an empty index found %+v", query, res)
		}
	}
	if _, err := s.Finder.Search(f.Context(), search.Criteria{Query: " " + strings.Repeat("ü", search.MaxQuery) + " "}); err != nil {
		f.Errorf("a query of %d characters gave %v", search.MaxQuery, err)
	}
	if _, err := s.Finder.Search(f.Context(), search.Criteria{Query: strings.Repeat("ü", search.MaxQuery+1)}); fault.ReasonOf(err) != "QUERY_TOO_LONG" {
		f.Errorf("a longer one gave %v", err)
	}
}

func badQueries(f *fixture) {
	f.add(thing{slug: "one", text: "tide and NEAR or not"})
	s := f.ready()
	for _, query := range Nasty {
		s.find(search.Criteria{Query: query})
	}
	s.want("near or not", "one")
}

// Nasty are queries that a database could take for its own language.
var Nasty = []string{
	`"`, `""`, `'`, `''`, `a"b`, `a'b`, `\`, `a\`, `\'`, "*", "a*", "*a", "a* b*", "^a", "-a", "+a", "a:b", "terms:a", "rowid:1", "a AND", "AND", "OR", "NOT", "NOT a",
	"NEAR(a b)", "NEAR", "(", ")", "((a)", "{a b}:c", "a & b", "a | b", "!a", "a <-> b", "a:*", "a:*B", "'a':*", "a & !", "%", "_", "a_b", "a%b", "?", "$1", ";", "--", "/*", "*/",
	"\x00", "a\x00b", "\xff\xfe", "\u202e", "\ufeff", "ǅ", "ß", "İ", "ſ", "ﬁ", "①", "½", "\U0001F600", "é", "e\u0301", "\u0301", "ก็", "हिन्दी", "𝔞𝔟", strings.Repeat("a", 499), strings.Repeat("a ", 249), strings.Repeat("\"", 500),
}

// commonWords: of many that fit the newest are looked at, and those that fit by name.
func commonWords(f *fixture) {
	var docs []search.Document
	for n := range search.Candidates + 400 {
		d := search.Document{Kind: "agent", ID: fmt.Sprintf("agt_%04d", n), Org: "default", Slug: fmt.Sprintf("s%04d", n), Text: "common water", Visibility: "org", CreatedAt: epoch.Add(time.Duration(n/3) * time.Second)}
		if n == 0 {
			d.Slug = "common"
		}
		if n%250 == 1 {
			d.Org, d.Text = "harbor", "common water rare"
		}
		docs = append(docs, d)
	}
	f.must(f.Write(f.Context(), "fill", "", func(tx sqldb.Tx) error { return f.index().Write(tx, search.SlotA, docs, nil) }))
	index := f.index()
	find := func(c search.Criteria) search.Result {
		f.Helper()
		c.Page, c.Size = 1, 20
		res, err := index.Search(f.Read(f.Context()), search.SlotA, c)
		f.must(err)
		return res
	}
	if res := find(search.Criteria{Query: "common"}); !res.More || res.Total < search.Candidates || res.Hits[0].Slug != "common" || len(res.Hits) != 20 {
		f.Errorf("a common word found %d, more %v, first %+v", res.Total, res.More, res.Hits[0])
	}
	if res := find(search.Criteria{Query: "common wat", Org: "harbor"}); res.More || res.Total != 3 || res.Counts["agent"] != 3 {
		f.Errorf("a common word in a small organization found %d, more %v", res.Total, res.More)
	}
	if res := find(search.Criteria{Query: "common rar"}); res.More || res.Total != 3 {
		f.Errorf("a common and a rare word found %d, more %v", res.Total, res.More)
	}
	if res := find(search.Criteria{}); res.Total != int64(len(docs)) || res.More {
		f.Errorf("a list counts %d of %d", res.Total, len(docs))
	}
}
