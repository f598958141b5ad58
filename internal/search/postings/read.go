package postings

import (
	"strings"

	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/search/relational"
	"github.com/cadre-dev/cadre/internal/sqldb"
)

// readWhole reads documents with their texts. more goes behind the tables d and t.
func readWhole(q sqldb.Querier, slot search.Slot, more string, args ...any) (all []numbered, err error) {
	err = q.Rows(func(r sqldb.Scanner) error {
		var d numbered
		var tags, created string
		err := r.Scan(&d.docid, &d.Kind, &d.ID, &d.Org, &d.Slug, &d.Name, &tags, &d.Visibility, &created, &d.Session, &d.digest, &d.Description, &d.Text)
		d.CreatedAt = sqldb.Unstamp(created)
		if tags != "" {
			d.Tags = strings.Split(tags, "\n")
		}
		all = append(all, d)
		return err
	}, "SELECT d.docid, d.kind, d.id, d.org, d.slug, d.name, d.tags, d.visibility, d.created_at, d.session, d.digest, d.description, COALESCE(t.body, '') FROM "+
		documentsOf(slot)+" d LEFT JOIN "+textsOf(slot)+" t ON t.docid = d.docid "+more, args...)
	return all, err
}

// readNarrow reads what documents are ranked by. Those that are gone are left out.
func readNarrow(q sqldb.Querier, slot search.Slot, docids []int64) ([]relational.Found, error) {
	if len(docids) == 0 {
		return nil, nil
	}
	return relational.Read(q, "SELECT "+relational.Columns+" FROM "+documentsOf(slot)+" d WHERE d.docid = ANY(CAST(? AS BIGINT[]))", docids)
}

// readBlocks reads blocks by list. The statement selects list, low and docids.
func readBlocks(q sqldb.Querier, statement string, args ...any) (map[string][]block, error) {
	found := map[string][]block{}
	err := q.Rows(func(r sqldb.Scanner) error {
		var list string
		var low int64
		var data []byte
		err := r.Scan(&list, &low, &data)
		if err == nil {
			found[list] = append(found[list], decode(low, data))
		}
		return err
	}, statement, args...)
	return found, err
}

// blocksAt reads the blocks that pairs of a list and a document belong to, each once.
// Subqueries with a limit keep PostgreSQL from reading whole tables.
func blocksAt(q sqldb.Querier, slot search.Slot, lists []string, docids []int64) (map[string][]block, error) {
	table := postingsOf(slot)
	return readBlocks(q, `SELECT k.list, k.low, b.docids FROM (SELECT DISTINCT p.list, (SELECT low FROM `+table+` b WHERE b.list = p.list AND b.low <= p.docid ORDER BY b.low DESC LIMIT 1) AS low
		FROM unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[])) AS p (list, docid)) k
		CROSS JOIN LATERAL (SELECT docids FROM `+table+` b WHERE b.list = k.list AND b.low = k.low LIMIT 1) b`, lists, docids)
}

// blocksWithEnds reads for each list the block that a document belongs to, and the low of the
// block behind it; 0 when there is none.
func blocksWithEnds(q sqldb.Querier, slot search.Slot, lists []string, docids []int64) (found map[string][]block, ends map[string]int64, err error) {
	table := postingsOf(slot)
	found, ends = map[string][]block{}, map[string]int64{}
	err = q.Rows(func(r sqldb.Scanner) error {
		var list string
		var low, end int64
		var data []byte
		err := r.Scan(&list, &low, &data, &end)
		if err == nil {
			found[list], ends[list] = []block{decode(low, data)}, end
		}
		return err
	}, `SELECT p.list, b.low, b.docids, COALESCE((SELECT low FROM `+table+` n WHERE n.list = p.list AND n.low > b.low ORDER BY n.low LIMIT 1), 0)
		FROM unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[])) AS p (list, docid)
		CROSS JOIN LATERAL (SELECT low, docids FROM `+table+` b WHERE b.list = p.list AND b.low <= p.docid ORDER BY b.low DESC LIMIT 1) b`, lists, docids)
	return found, ends, err
}

// blocksBelow reads the next blocks of lists, most of each, from the one that holds what is
// just below a number on downwards.
func blocksBelow(q sqldb.Querier, slot search.Slot, lists []string, before []int64, most int) (map[string][]block, error) {
	return readBlocks(q, `SELECT k.list, b.low, b.docids FROM unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[])) AS k (list, before)
		CROSS JOIN LATERAL (SELECT low, docids FROM `+postingsOf(slot)+` p WHERE p.list = k.list AND p.low < k.before ORDER BY p.low DESC LIMIT ?) b`, lists, before, most)
}

// newestBlocks reads the newest blocks of lists, and of all lists, mostLists + 1 at most, whose
// names begin like from and end before to.
func newestBlocks(q sqldb.Querier, slot search.Slot, lists []string, from, to string, most int) (map[string][]block, error) {
	table := postingsOf(slot)
	k := "SELECT unnest(CAST(? AS TEXT[])) AS list"
	args := []any{lists}
	if from != "" {
		k += " UNION SELECT list FROM (SELECT list FROM " + table + " WHERE list >= ? AND list < ? AND low = 0 ORDER BY list LIMIT ?) alike"
		args = append(args, from, to, mostLists+1)
	}
	return readBlocks(q, "SELECT k.list, b.low, b.docids FROM ("+k+`) k
		CROSS JOIN LATERAL (SELECT low, docids FROM `+table+` p WHERE p.list = k.list ORDER BY p.low DESC LIMIT ?) b`, append(args, most)...)
}

// blockBehind finds the block of a list that holds what comes behind so many documents,
// the newest first: before is above all of its numbers, 0 when there are not so many, and
// skipped is how many documents the blocks before it have.
func blockBehind(q sqldb.Querier, slot search.Slot, list string, offset int64) (before, skipped int64, err error) {
	err = q.Rows(func(r sqldb.Scanner) error { return r.Scan(&before, &skipped) }, `SELECT COALESCE(above, `+highest+`), upto - documents FROM (
		SELECT documents, lag(low) OVER (ORDER BY low DESC) AS above, sum(documents) OVER (ORDER BY low DESC ROWS UNBOUNDED PRECEDING) AS upto
		FROM `+postingsOf(slot)+` WHERE list = ?) counted WHERE upto > ? LIMIT 1`, list, offset)
	return before, skipped, err
}

// highest is above every number, in SQL.
const highest = "9223372036854775807"
