// Package relational is what the drivers of the search index share: the tables of
// documents and of their texts, the counts of what lists show, and the ranking of what a
// database found. How words are kept and found is each driver's own.
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
	// Insert keeps the words of a new document.
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
	sums := Counts{}
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
	return sums.Write(tx, slot)
}

func (d Documents) put(tx sqldb.Tx, slot search.Slot, doc search.Document, sums Counts) error {
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
	docid, err := d.insert(tx, slot, doc, digest)
	if err != nil {
		return err
	}
	sums[Counted{doc.Org, doc.Kind, doc.Public()}]++
	return d.Words.Insert(tx, slot, docid, w)
}

// insert gives a document its number: the first of its time that no other has.
func (d Documents) insert(tx sqldb.Tx, slot search.Slot, doc search.Document, digest string) (int64, error) {
	q := "INSERT INTO " + table("documents", slot) + ` (docid, kind, id, org, public, slug, name, tags, visibility, created_at, session, digest, description)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (docid) DO NOTHING`
	for try := 0; ; try++ {
		docid := Number(doc, try)
		n, err := tx.Affect(q, docid, doc.Kind, doc.ID, doc.Org, bit(doc.Public()), doc.Slug, doc.Name, Tags(doc),
			doc.Visibility, sqldb.Stamp(doc.CreatedAt), doc.Session, digest, doc.Description)
		if err == nil && n > 0 {
			err = tx.Exec("INSERT INTO "+table("texts", slot)+" (docid, body) VALUES (?, ?)", docid, doc.Text)
		}
		if err != nil || n > 0 {
			return docid, err
		}
	}
}

// Tags are the labels of a document as they are kept.
func Tags(doc search.Document) string { return strings.Join(doc.Tags, "\n") }

// Number is a document's number: that of its time, and with each further try one of an
// interval soon after that.
func Number(doc search.Document, try int) int64 { return numberOf(doc.CreatedAt) + apart(doc, try) }

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

func (d Documents) drop(tx sqldb.Tx, slot search.Slot, key search.Key, old kept, sums Counts) error {
	if err := d.Words.Delete(tx, slot, old.docid); err != nil {
		return err
	}
	sums[Counted{old.org, key.Kind, old.public}]--
	for _, name := range []string{"texts", "documents"} {
		if err := tx.Exec("DELETE FROM "+table(name, slot)+" WHERE docid = ?", old.docid); err != nil {
			return err
		}
	}
	return nil
}

// Counts are how many documents came, or went when they are negative.
type Counts map[Counted]int

// Counted is what documents are counted by.
type Counted struct {
	Org, Kind string
	Public    bool
}

// Write adds them to what a slot has.
func (c Counts) Write(tx sqldb.Tx, slot search.Slot) error {
	keys := slices.SortedFunc(maps.Keys(c), func(a, b Counted) int {
		return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.Kind, b.Kind), cmp.Compare(bit(a.Public), bit(b.Public)))
	})
	for _, k := range keys {
		if c[k] == 0 {
			continue
		}
		if err := tx.Exec(`INSERT INTO search_counts (slot, org, kind, public, documents) VALUES (?,?,?,?,?)
			ON CONFLICT (slot, org, kind, public) DO UPDATE SET documents = search_counts.documents + excluded.documents`,
			string(slot), k.Org, k.Kind, bit(k.Public), c[k]); err != nil {
			return err
		}
	}
	return nil
}

// Cleared takes up to limit documents out of a slot, which has no words any more.
func (d Documents) Cleared(tx sqldb.Tx, slot search.Slot, limit int) (more bool, err error) {
	if err := tx.Exec("DELETE FROM search_counts WHERE slot = ?", string(slot)); err != nil {
		return true, err
	}
	for _, of := range []string{"texts", "documents"} {
		name := table(of, slot)
		n, err := tx.Affect("DELETE FROM "+name+" WHERE docid IN (SELECT docid FROM "+name+" LIMIT ?)", limit)
		if err != nil || n == int64(limit) {
			return true, err
		}
	}
	return false, nil
}

// Empty tells whether a slot holds nothing.
func (d Documents) Empty(q sqldb.Querier, slot search.Slot) (bool, error) {
	var some bool
	err := q.Row("SELECT EXISTS (SELECT 1 FROM " + table("documents", slot) + ")").Scan(&some)
	return !some, err
}
