package proctree

import "context"

// clean ends what an earlier process left and removes its records.
func clean(ctx context.Context, r *records, w *watcher) error {
	old, err := r.list()
	if err != nil {
		return err
	}
	searches := []search{{marked: r.marked}}
	for _, rec := range old {
		if rec.Machine == w.sys.boot() {
			searches = append(searches, rec.search())
		}
	}
	if err := end(ctx, w.sys, union(w, searches)); err != nil {
		return err
	}
	for _, rec := range old {
		r.remove(rec)
	}
	return nil
}

// search finds the members of a recorded tree. The session is trusted only while
// the root or a marked process is in it: its number may be another's by now. The
// same goes for the namespace, which ends with its root.
func (rec record) search() search {
	return search{
		root:   rec.Root,
		space:  rec.Space,
		since:  rec.Root.Start,
		marked: func(mark string) bool { return mark == rec.Marker },
		memory: &memory{},
	}
}

// union looks for the members of several trees.
func union(w *watcher, searches []search) look {
	return func() ([]process, error) {
		known := map[int]bool{}
		var members []process
		for _, s := range searches {
			found, err := s.find(w)
			if err != nil {
				return nil, err
			}
			for _, p := range found {
				if !known[p.pid] {
					known[p.pid] = true
					members = append(members, p)
				}
			}
		}
		return members, nil
	}
}
