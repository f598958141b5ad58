// Package relational is what the drivers of the search index share: the table of
// documents, the counts of what lists show, and the ranking of what a database found.
// How words are kept and found is each driver's own.
//
// Everything is written inside of the caller's transaction. Numbers of documents grow
// with the time of their creation, so that the newest come first in the order of the
// numbers.
package relational

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Words is what a driver adds: where the words of a document are kept.
type Words interface {
	// Columns are those that the table of documents has for words: names and parameters,
	// each beginning with a comma, and their values; nothing when words lie elsewhere.
	Columns(w Kept) (names, params string, values []any)
	// Insert keeps the words of a new document where they lie elsewhere.
	Insert(tx sqldb.Tx, slot search.Slot, docid int64, w Kept) error
	// Delete forgets those.
	Delete(tx sqldb.Tx, slot search.Slot, docid int64) error
}

// Kept are the words of a document. Those of the scope go with the title and with all.
type Kept struct{ Title, All, Scope []string }

// Documents are the tables of one driver.
type Documents struct{ Words Words }

// Scope are words that no text has, by which searches are narrowed.
func Scope(org, kind string, public bool) []string {
	return []string{OrgWord(org), KindWord(kind), PublicWord(public)}
}

// OrgWord stands for an organization.
func OrgWord(org string) string { return "o:" + org }

// KindWord stands for a kind.
func KindWord(kind string) string { return "k:" + kind }

// PublicWord stands for what is public, or what is not.
func PublicWord(public bool) string { return "p:" + flag(public) }

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// table is a table of a slot.
func table(name string, slot search.Slot) string { return "search_" + name + "_" + string(slot) }

// Write stores documents and takes others out. Counts come last and in one order, so
// that no two transactions wait for one another.
func (d Documents) Write(tx sqldb.Tx, slot search.Slot, put []search.Document, gone []search.Key) error {
	sums := counts{}
	for _, doc := range put {
		if err := d.put(tx, slot, doc, sums); err != nil {
			return err
		}
	}
	for _, key := range gone {
		old, err := d.old(tx, slot, key.Kind, key.ID)
		if err == nil && old != nil {
			err = d.drop(tx, slot, key, *old, sums)
		}
		if err != nil {
			return err
		}
	}
	return sums.write(tx, slot)
}

func (d Documents) put(tx sqldb.Tx, slot search.Slot, doc search.Document, sums counts) error {
	digest := doc.Digest()
	old, err := d.old(tx, slot, doc.Kind, doc.ID)
	if err != nil {
		return err
	}
	if old != nil {
		if old.digest == digest {
			return nil
		}
		if err := d.drop(tx, slot, search.Key{Kind: doc.Kind, ID: doc.ID}, *old, sums); err != nil {
			return err
		}
	}
	w := Kept{doc.Title(), doc.All(), append(Scope(doc.Org, doc.Kind, doc.Public()), doc.Beginnings()...)}
	docid, err := d.insert(tx, slot, doc, digest, w)
	if err != nil {
		return err
	}
	sums[counted{doc.Org, doc.Kind, doc.Public()}]++
	return d.Words.Insert(tx, slot, docid, w)
}

// insert gives a document its number: that of its time, or one soon after that no other has.
func (d Documents) insert(tx sqldb.Tx, slot search.Slot, doc search.Document, digest string, w Kept) (int64, error) {
	names, params, values := d.Words.Columns(w)
	q := "INSERT INTO " + table("documents", slot) + ` (docid, kind, id, org, public, slug, name, tags, visibility, created_at, session, digest, description, body` + names + `)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?` + params + `) ON CONFLICT (docid) DO NOTHING`
	for try := 0; ; try++ {
		docid := numberOf(doc.CreatedAt) + apart(doc, try)
		n, err := tx.Affect(q, append([]any{
			docid, doc.Kind, doc.ID, doc.Org, bit(doc.Public()), doc.Slug, doc.Name, strings.Join(doc.Tags, "\n"),
			doc.Visibility, sqldb.Stamp(doc.CreatedAt), doc.Session, digest, doc.Description, doc.Text,
		}, values...)...)
		if err != nil || n > 0 {
			return docid, err
		}
	}
}

// apart spreads documents of one moment over an interval that grows with each try. It is
// the same for the same document.
func apart(doc search.Document, try int) int64 {
	if try == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s %s", try, doc.Kind, doc.ID)
	return int64(h.Sum64() % (8 << min(try, 40)))
}

// firstYear is when numbers of documents begin.
var firstYear = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// numberOf is a document's number by its time of creation, in units of 16 microseconds.
func numberOf(created time.Time) int64 { return max(1, created.Sub(firstYear).Microseconds()>>4) }

// kept is what is known of a document that is there.
type kept struct {
	docid       int64
	org, digest string
	public      bool
}

func (d Documents) old(tx sqldb.Tx, slot search.Slot, kind, id string) (*kept, error) {
	var k kept
	var public int
	err := tx.Row("SELECT docid, org, public, digest FROM "+table("documents", slot)+" WHERE kind = ? AND id = ?", kind, id).
		Scan(&k.docid, &k.org, &public, &k.digest)
	if gone(err) {
		return nil, nil
	}
	k.public = public == 1
	return &k, err
}

func (d Documents) drop(tx sqldb.Tx, slot search.Slot, key search.Key, old kept, sums counts) error {
	if err := d.Words.Delete(tx, slot, old.docid); err != nil {
		return err
	}
	sums[counted{old.org, key.Kind, old.public}]--
	return tx.Exec("DELETE FROM "+table("documents", slot)+" WHERE docid = ?", old.docid)
}

// counts are how many documents came or went.
type counts map[counted]int

type counted struct {
	org, kind string
	public    bool
}

func (c counts) write(tx sqldb.Tx, slot search.Slot) error {
	keys := slices.SortedFunc(maps.Keys(c), func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.org, b.org), cmp.Compare(a.kind, b.kind), cmp.Compare(bit(a.public), bit(b.public)))
	})
	for _, k := range keys {
		if c[k] == 0 {
			continue
		}
		if err := tx.Exec(`INSERT INTO search_counts (slot, org, kind, public, documents) VALUES (?,?,?,?,?)
			ON CONFLICT (slot, org, kind, public) DO UPDATE SET documents = search_counts.documents + excluded.documents`,
			string(slot), k.org, k.kind, bit(k.public), c[k]); err != nil {
			return err
		}
	}
	return nil
}

// Cleared takes up to limit documents out of the table, which has no words any more.
func (d Documents) Cleared(tx sqldb.Tx, slot search.Slot, limit int) (more bool, err error) {
	if err := tx.Exec("DELETE FROM search_counts WHERE slot = ?", string(slot)); err != nil {
		return true, err
	}
	name := table("documents", slot)
	n, err := tx.Affect("DELETE FROM "+name+" WHERE docid IN (SELECT docid FROM "+name+" LIMIT ?)", limit)
	return n == int64(limit), err
}

// Empty tells whether a slot holds nothing.
func (d Documents) Empty(q sqldb.Querier, slot search.Slot) (bool, error) {
	var some bool
	err := q.Row("SELECT EXISTS (SELECT 1 FROM " + table("documents", slot) + ")").Scan(&some)
	return !some, err
}
