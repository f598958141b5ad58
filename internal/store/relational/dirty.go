package relational

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/cadre-dev/cadre/internal/resource"
)

// The search index follows the resources through search_dirty: what a transaction
// changes in a way that can be found is named there by the same transaction, and the
// index's own indexer takes it out again. A turn that runs changes its row often and is
// named at its beginning and its end only.

// changed is a resource whose document may be another one now.
type changed struct{ kind, id string }

// OnChange names the function that is called after each transaction that changed
// what can be found. It must not block. Set it before the first write.
func (s *Store) OnChange(f func()) { s.onChange.Store(&f) }

// dirty notes that a resource's document has to be made anew.
func (t *txn) dirty(kind resource.Kind, id string) error {
	name, err := resource.KindName(kind)
	if err == nil {
		t.changed = append(t.changed, changed{name, id})
	}
	return err
}

// writeDirty names what was noted. It comes last in a transaction and in one order, so
// that no two transactions wait for one another. The ticket tells a change from
// the ones before: who indexed an older state does not take the newer mark away.
func (t *txn) writeDirty() error {
	slices.SortFunc(t.changed, func(a, b changed) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id)) })
	for _, c := range slices.Compact(t.changed) {
		if err := t.Exec(`INSERT INTO search_dirty (kind, id, ticket, bulk) VALUES (?,?,?,0)
			ON CONFLICT (kind, id) DO UPDATE SET ticket = excluded.ticket, bulk = 0`, c.kind, c.id, rand.Int64()); err != nil {
			return err
		}
	}
	return nil
}

// tell says that there is something to index.
func (s *Store) tell(t *txn) {
	if f := s.onChange.Load(); f != nil && t != nil && len(t.changed) > 0 {
		(*f)()
	}
}
