package relational

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Columns are what Scan reads of a document, from a table that is called d: what it is
// narrowed and ranked by.
const Columns = "d.docid, d.kind, d.org, d.public, d.slug, d.name, d.tags, d.description"

// Found is a document that fits.
type Found struct {
	docid  int64
	public bool
	tags   string
	search.Hit
}

// Docid is the document's number.
func (f Found) Docid() int64 { return f.docid }

// Scan reads Columns.
func Scan(r sqldb.Scanner) (f Found, err error) {
	var public int
	err = r.Scan(&f.docid, &f.Kind, &f.Org, &public, &f.Slug, &f.Name, &f.tags, &f.Description)
	f.public = public == 1
	return f, err
}

// complete reads what is shown of the documents of a page beside what they were ranked
// by, with the text that a snippet is cut from.
func complete(q sqldb.Querier, slot search.Slot, page []Found, text func(i int, body string)) error {
	if len(page) == 0 {
		return nil
	}
	where, args := map[int64]int{}, make([]any, len(page))
	for i, f := range page {
		where[f.docid], args[i] = i, f.docid
	}
	columns, from := "''", table("documents", slot)+" d"
	if text != nil {
		columns, from = "COALESCE(t.body, '')", from+" LEFT JOIN "+table("texts", slot)+" t ON t.docid = d.docid"
	}
	return q.Rows(func(r sqldb.Scanner) error {
		var docid int64
		var id, visibility, created, session, words string
		if err := r.Scan(&docid, &id, &visibility, &created, &session, &words); err != nil {
			return err
		}
		i := where[docid]
		f := &page[i]
		f.ID, f.Visibility, f.CreatedAt, f.Session = id, visibility, sqldb.Unstamp(created), session
		if f.tags != "" {
			f.Tags = strings.Split(f.tags, "\n")
		}
		if text != nil {
			text(i, words)
		}
		return nil
	}, "SELECT d.docid, d.id, d.visibility, d.created_at, d.session, "+columns+" FROM "+from+
		" WHERE d.docid IN (?"+strings.Repeat(",?", len(page)-1)+")", args...)
}

// Read reads the documents that a statement selects.
func Read(q sqldb.Querier, sql string, args ...any) (all []Found, err error) {
	err = q.Rows(func(r sqldb.Scanner) error {
		f, err := Scan(r)
		all = append(all, f)
		return err
	}, sql, args...)
	return all, err
}

// Candidates are what a database found: by name and label, and by all words; the
// newest of each, at most search.Candidates. More says that there are more.
type Candidates struct {
	Title, All []Found
	More       bool
}

// Rank answers a page of what was found.
func Rank(q sqldb.Querier, slot search.Slot, c search.Criteria, words search.Query, found Candidates) (search.Result, error) {
	res := search.Empty(c)
	res.More = found.More
	seen := map[int64]bool{}
	var all []Found
	for _, f := range slices.Concat(found.Title, found.All) {
		if seen[f.docid] {
			continue
		}
		seen[f.docid] = true
		f.Score = words.Score(f.Name, f.Slug, f.tags, f.Description)
		res.Counts[f.Kind]++
		all = append(all, f)
	}
	res.Total = int64(len(all))
	slices.SortFunc(all, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.docid, a.docid))
	})
	shown := page(all, c)
	err := complete(q, slot, shown, func(i int, body string) { shown[i].Snippet = words.Snippet(body, shown[i].Description) })
	for _, f := range shown {
		res.Hits = append(res.Hits, f.Hit)
	}
	return res, err
}

func page(all []Found, c search.Criteria) []Found {
	from := min(len(all), int(min(int64(len(all)), int64(c.Page-1)*int64(c.Size))))
	return all[from:min(len(all), from+c.Size)]
}

// List completes a page of a list with its exact counts.
func List(q sqldb.Querier, slot search.Slot, c search.Criteria, found []Found) (search.Result, error) {
	res := search.Empty(c)
	if err := complete(q, slot, found, nil); err != nil {
		return res, err
	}
	for _, f := range found {
		f.Score = 1
		res.Hits = append(res.Hits, f.Hit)
	}
	where, args := Narrow(c, "search_counts")
	err := q.Rows(func(r sqldb.Scanner) error {
		var kind string
		var n int64
		if err := r.Scan(&kind, &n); err != nil || n == 0 {
			return err
		}
		res.Counts[kind] = n
		res.Total += n
		return nil
	}, "SELECT kind, CAST(sum(documents) AS BIGINT) FROM search_counts WHERE slot = ?"+where+" GROUP BY kind", append([]any{string(slot)}, args...)...)
	return res, err
}

// Share is the part of all documents that criteria are narrowed to, from 0 to 1; 1 when
// there are none.
func Share(q sqldb.Querier, slot search.Slot, c search.Criteria) (float64, error) {
	where, args := Narrow(c, "search_counts")
	var all, fit int64
	err := q.Row(`SELECT CAST(COALESCE(sum(documents), 0) AS BIGINT), CAST(COALESCE(sum(CASE WHEN documents > 0`+where+` THEN documents ELSE 0 END), 0) AS BIGINT)
		FROM search_counts WHERE slot = ?`, append(args, string(slot))...).Scan(&all, &fit)
	if all <= 0 {
		return 1, err
	}
	return float64(fit) / float64(all), err
}

// Narrow is the condition of criteria on a table with the columns org, kind and public,
// beginning with AND; "" when all fits.
func Narrow(c search.Criteria, table string) (where string, args []any) {
	var b strings.Builder
	add := func(condition string, values ...any) {
		fmt.Fprintf(&b, " AND "+condition, table)
		args = append(args, values...)
	}
	switch {
	case c.Org == "":
	case c.CrossOrgPublic && !c.ExcludePublic:
		fmt.Fprintf(&b, " AND (%s.org = ? OR %s.public = 1)", table, table)
		args = append(args, c.Org)
	default:
		add("%s.org = ?", c.Org)
	}
	if c.ExcludePublic {
		add("%s.public = 0")
	}
	if len(c.Kinds) > 0 {
		kinds := make([]any, len(c.Kinds))
		for i, k := range c.Kinds {
			kinds[i] = k
		}
		add("%s.kind IN (?"+strings.Repeat(",?", len(kinds)-1)+")", kinds...)
	}
	return b.String(), args
}

// Scopes are the words that criteria are narrowed to: of each list a document has one.
func Scopes(c search.Criteria) [][]string {
	var all [][]string
	if c.Org != "" {
		org := []string{OrgWord(c.Org)}
		if c.CrossOrgPublic && !c.ExcludePublic {
			org = append(org, PublicWord(true))
		}
		all = append(all, org)
	}
	if c.ExcludePublic {
		all = append(all, []string{PublicWord(false)})
	}
	var kinds []string
	for _, k := range c.Kinds {
		kinds = append(kinds, KindWord(k))
	}
	if len(kinds) > 0 {
		all = append(all, kinds)
	}
	return all
}

// Fits tells whether a document is what criteria are narrowed to.
func Fits(c search.Criteria, f Found) bool {
	inOrg := c.Org == "" || f.Org == c.Org || c.CrossOrgPublic && f.public
	return inOrg && !(c.ExcludePublic && f.public) && (len(c.Kinds) == 0 || slices.Contains(c.Kinds, f.Kind))
}

// Safe tells whether criteria are narrowed by nothing but names that can exist, so that
// they can be written as words.
func Safe(c search.Criteria) bool {
	for _, name := range append([]string{c.Org}, c.Kinds...) {
		for i := range len(name) {
			if b := name[i]; (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' && b != '_' {
				return false
			}
		}
	}
	return true
}

// Offset is how many come before a page.
func Offset(c search.Criteria) int64 { return int64(c.Page-1) * int64(c.Size) }

func gone(err error) bool { return errors.Is(err, sqldb.ErrNoRows) }
