// Package relational is what the drivers of the search index share: the table of
// documents, the counts of what lists show, and the ranking of what a database found.
// How words are kept and found is each driver's own.
//
// Everything is written inside of the caller's transaction. Numbers of documents grow
// with the time of their creation, so that the newest come first in the order of the
// numbers.
package relational

import (
	"errors"
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

// Kept are the words of a document.
type Kept struct{ Title, All, Scope []string }

// Documents are the tables of one driver.
type Documents struct{ Words Words }

// Scope are words that no text has: what searches are narrowed by.
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

// Put stores a document.
func (d Documents) Put(tx sqldb.Tx, slot search.Slot, doc search.Document) error {
	digest := doc.Digest()
	old, err := d.old(tx, slot, doc.Kind, doc.ID)
	if err != nil {
		return err
	}
	if old != nil {
		if old.digest == digest {
			return nil
		}
		if err := d.drop(tx, slot, doc.Kind, doc.ID, *old); err != nil {
			return err
		}
	}
	docid, err := free(tx, slot, doc, old)
	if err != nil {
		return err
	}
	w := Kept{doc.Title(), doc.All(), Scope(doc.Org, doc.Kind, doc.Public())}
	names, params, values := d.Words.Columns(w)
	values = append([]any{
		docid, doc.Kind, doc.ID, doc.Org, bit(doc.Public()), doc.Slug, doc.Name, strings.Join(doc.Tags, "\n"),
		doc.Visibility, sqldb.Stamp(doc.CreatedAt), doc.Session, digest, doc.Description, doc.Text,
	}, values...)
	if err := tx.Exec("INSERT INTO "+table("documents", slot)+` (docid, kind, id, org, public, slug, name, tags, visibility, created_at, session, digest, description, body`+names+`)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?`+params+`)`, values...); err != nil {
		return err
	}
	if err := count(tx, slot, doc.Org, doc.Kind, doc.Public(), 1); err != nil {
		return err
	}
	return d.Words.Insert(tx, slot, docid, w)
}

// kept is what is known of a document that is there.
type kept struct {
	docid       int64
	org, digest string
	public      bool
	created     string
}

func (d Documents) old(tx sqldb.Tx, slot search.Slot, kind, id string) (*kept, error) {
	var k kept
	var public int
	err := tx.Row("SELECT docid, org, public, digest, created_at FROM "+table("documents", slot)+" WHERE kind = ? AND id = ?", kind, id).
		Scan(&k.docid, &k.org, &public, &k.digest, &k.created)
	if errors.Is(err, sqldb.ErrNoRows) {
		return nil, nil
	}
	k.public = public == 1
	return &k, err
}

// Remove takes a document out, when there is one.
func (d Documents) Remove(tx sqldb.Tx, slot search.Slot, kind, id string) error {
	old, err := d.old(tx, slot, kind, id)
	if err != nil || old == nil {
		return err
	}
	return d.drop(tx, slot, kind, id, *old)
}

func (d Documents) drop(tx sqldb.Tx, slot search.Slot, kind, id string, old kept) error {
	if err := d.Words.Delete(tx, slot, old.docid); err != nil {
		return err
	}
	if err := tx.Exec("DELETE FROM "+table("documents", slot)+" WHERE kind = ? AND id = ?", kind, id); err != nil {
		return err
	}
	return count(tx, slot, old.org, kind, old.public, -1)
}

func count(tx sqldb.Tx, slot search.Slot, org, kind string, public bool, n int) error {
	return tx.Exec(`INSERT INTO search_counts (slot, org, kind, public, documents) VALUES (?,?,?,?,?)
		ON CONFLICT (slot, org, kind, public) DO UPDATE SET documents = search_counts.documents + excluded.documents`, string(slot), org, kind, bit(public), n)
}

// firstYear is when numbers of documents begin.
var firstYear = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// numberOf is a document's number by its time of creation, in units of 16 microseconds.
func numberOf(created time.Time) int64 { return max(1, created.Sub(firstYear).Microseconds()>>4) }

// free finds the number of a document: the one that it has, or the next one that
// no other has.
func free(tx sqldb.Tx, slot search.Slot, doc search.Document, old *kept) (int64, error) {
	if old != nil && old.created == sqldb.Stamp(doc.CreatedAt) {
		return old.docid, nil
	}
	n := numberOf(doc.CreatedAt)
	for step := int64(1); ; n += step {
		var taken bool
		if err := tx.Row("SELECT EXISTS (SELECT 1 FROM "+table("documents", slot)+" WHERE docid = ?)", n).Scan(&taken); err != nil || !taken {
			return n, err
		}
		if n-numberOf(doc.CreatedAt) >= 64*step { // many of one moment: wider steps
			step *= 2
		}
	}
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
