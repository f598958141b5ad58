package search

import (
	"time"

	"github.com/cadre-dev/cadre/internal/sqldb"
)

// state is the one row that says which generation answers and which one is filled.
type state struct {
	current    int64
	extractors string // the digest of the extractors that made it
	building   int64  // 0 when none is
	holder     string // the indexer that fills it
	expires    time.Time
}

// readState reads it, and whether changes wait to be indexed.
func readState(q sqldb.Querier) (s state, pending bool, err error) {
	var expires string
	err = q.Row(`SELECT current, extractors, building, holder, expires_at, EXISTS (SELECT 1 FROM search_dirty WHERE bulk = 0)
		FROM search_state WHERE id = 1`).Scan(&s.current, &s.extractors, &s.building, &s.holder, &expires, &pending)
	s.expires = sqldb.Unstamp(expires)
	return s, pending, err
}

// lockState reads it for a change.
func lockState(tx sqldb.Tx, forUpdate string) (s state, err error) {
	var expires string
	err = tx.Row("SELECT current, extractors, building, holder, expires_at FROM search_state WHERE id = 1"+forUpdate).
		Scan(&s.current, &s.extractors, &s.building, &s.holder, &expires)
	s.expires = sqldb.Unstamp(expires)
	return s, err
}

func (s state) write(tx sqldb.Tx) error {
	return tx.Exec("UPDATE search_state SET current = ?, extractors = ?, building = ?, holder = ?, expires_at = ? WHERE id = 1",
		s.current, s.extractors, s.building, s.holder, sqldb.Stamp(s.expires))
}

// other is the slot that does not answer.
func (s state) other() Slot { return SlotOf(s.current + 1) }
