package postings

import (
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// insert stores rows, and answers the numbers that were free.
func (w *writing) insert(all []*numbered) (done map[int64]bool, err error) {
	done = map[int64]bool{}
	if len(all) == 0 {
		return done, nil
	}
	docids, public := make([]int64, len(all)), make([]int16, len(all))
	text := make([][]string, 11)
	for i, d := range all {
		docids[i] = d.docid
		if d.Public() {
			public[i] = 1
		}
		for n, value := range []string{d.Kind, d.ID, d.Org, d.Slug, d.Name, relational.Tags(d.Document), d.Visibility, sqldb.Stamp(d.CreatedAt), d.Session, d.digest, d.Description} {
			text[n] = append(text[n], value)
		}
	}
	args := []any{docids, public}
	for _, column := range text {
		args = append(args, column)
	}
	err = w.tx.Rows(func(r sqldb.Scanner) error {
		var docid int64
		err := r.Scan(&docid)
		done[docid] = true
		return err
	}, "INSERT INTO "+documentsOf(w.slot)+` (docid, public, kind, id, org, slug, name, tags, visibility, created_at, session, digest, description)
		SELECT * FROM unnest(CAST(? AS BIGINT[]), CAST(? AS SMALLINT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]),
		CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS TEXT[])) ON CONFLICT (docid) DO NOTHING RETURNING docid`, args...)
	if err != nil {
		return nil, err
	}
	return done, w.insertTexts(all, done)
}

func (w *writing) insertTexts(all []*numbered, done map[int64]bool) error {
	var bodies []string
	var docids []int64
	for _, d := range all {
		if done[d.docid] {
			docids, bodies = append(docids, d.docid), append(bodies, d.Text)
		}
	}
	return w.tx.Exec("INSERT INTO "+textsOf(w.slot)+" (docid, body) SELECT * FROM unnest(CAST(? AS BIGINT[]), CAST(? AS TEXT[]))", docids, bodies)
}
