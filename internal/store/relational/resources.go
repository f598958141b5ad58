package relational

import (
	"context"
	"maps"
	"slices"

	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

const rowColumns = "id, org, slug, name, visibility, version, created_at, updated_at, i1, i2, i3, i4, data"

// Create stores a new row.
func (s *Store) Create(ctx context.Context, row store.Row, once *store.Once) error {
	return s.do(ctx, "create", "", func(t *txn) error {
		if err := t.once(once); err != nil {
			return err
		}
		if err := t.insertRow(row); err != nil {
			return err
		}
		return t.keep(once)
	})
}

// Save stores a row, replacing one with the same kind and id.
func (s *Store) Save(ctx context.Context, row store.Row) error {
	return s.do(ctx, "save", "", func(t *txn) error {
		_, err := t.getRow(row.Kind, row.ID)
		switch {
		case err == nil:
			return t.saveRow(row)
		case isNotFound(err):
			return t.insertRow(row)
		}
		return err
	})
}

// saveRow replaces a row that is there.
func (t *txn) saveRow(row store.Row) error {
	if err := t.dirty(row.Kind, row.ID); err != nil {
		return err
	}
	return t.updateRow(row, true)
}

// Get reads by id.
func (s *Store) Get(ctx context.Context, kind resource.Kind, id string) (store.Row, error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return store.Row{}, err
	}
	row, err := scanRow(kind, s.db.Read(ctx).Row("SELECT "+rowColumns+" FROM resources WHERE kind = ? AND id = ?", name, id))
	return row, s.missing(err, kind, id)
}

// Lookup reads by slug.
func (s *Store) Lookup(ctx context.Context, kind resource.Kind, org, slug string) (store.Row, error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return store.Row{}, err
	}
	row, err := scanRow(kind, s.db.Read(ctx).Row(
		"SELECT "+rowColumns+" FROM resources WHERE kind = ? AND org = ? AND slug = ? AND slug <> ''", name, org, slug))
	return row, s.missing(err, kind, resource.Ref{Org: org, Slug: slug}.String())
}

func (s *Store) missing(err error, kind resource.Kind, ref string) error {
	if noRows(err) {
		return resource.NotFound(kind, ref)
	}
	return err
}

// Update changes a row atomically.
func (s *Store) Update(ctx context.Context, kind resource.Kind, id string, once *store.Once, change func(store.Row) (store.Row, error)) (store.Row, error) {
	var out store.Row
	err := s.do(ctx, "update", "", func(t *txn) error {
		if err := t.once(once); err != nil {
			return err
		}
		var err error
		if out, err = t.change(kind, id, change); err != nil {
			return err
		}
		if err := t.dirty(kind, id); err != nil {
			return err
		}
		return t.keep(once)
	})
	return out, err
}

// Delete removes a row and answers it.
func (s *Store) Delete(ctx context.Context, kind resource.Kind, id string, once *store.Once, check func(store.Row) error) (store.Row, error) {
	var out store.Row
	err := s.do(ctx, "delete", "", func(t *txn) error {
		if err := t.once(once); err != nil {
			return err
		}
		var err error
		if out, err = t.getRow(kind, id); err != nil {
			return err
		}
		if check != nil {
			if err := check(out); err != nil {
				return err
			}
		}
		if err := t.deleteRow(kind, id); err != nil {
			return err
		}
		return t.keep(once)
	})
	return out, err
}

// Slugs answers slugs in order.
func (s *Store) Slugs(ctx context.Context, kind resource.Kind, org, after string, limit int) ([]string, error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return nil, err
	}
	var all []string
	err = s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		var slug string
		if err := r.Scan(&slug); err != nil {
			return err
		}
		all = append(all, slug)
		return nil
	}, "SELECT slug FROM resources WHERE kind = ? AND org = ? AND slug > ? ORDER BY slug LIMIT ?", name, org, after, limit)
	return all, err
}

func scanRow(kind resource.Kind, r sqldb.Scanner) (store.Row, error) {
	row := store.Row{Kind: kind}
	var created, updated string
	err := r.Scan(&row.ID, &row.Org, &row.Slug, &row.Name, &row.Visibility, &row.Version, &created, &updated,
		&row.Index[0], &row.Index[1], &row.Index[2], &row.Index[3], &row.Data)
	row.CreatedAt, row.UpdatedAt = sqldb.Unstamp(created), sqldb.Unstamp(updated)
	return row, err
}

func (t *txn) getRow(kind resource.Kind, id string) (store.Row, error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return store.Row{}, err
	}
	row, err := scanRow(kind, t.Row("SELECT "+rowColumns+" FROM resources WHERE kind = ? AND id = ?"+t.dialect.ForUpdate, name, id))
	if noRows(err) {
		return row, resource.NotFound(kind, id)
	}
	return row, err
}

func (t *txn) change(kind resource.Kind, id string, change func(store.Row) (store.Row, error)) (store.Row, error) {
	old, err := t.getRow(kind, id)
	if err != nil {
		return old, err
	}
	row, err := change(old)
	if err != nil {
		return old, err
	}
	row.Kind, row.ID = kind, id
	if row.Version > old.Version { // a row from before the table of versions has its history begin here
		if err := t.keepVersion(old); err != nil {
			return old, err
		}
	}
	return row, t.updateRow(row, row.Labels != nil)
}

func (t *txn) insertRow(r store.Row) error {
	name, err := resource.KindName(r.Kind)
	if err != nil {
		return err
	}
	n, err := t.Affect("INSERT INTO resources (kind, "+rowColumns+") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
		name, r.ID, r.Org, r.Slug, r.Name, r.Visibility, r.Version, sqldb.Stamp(r.CreatedAt), sqldb.Stamp(r.UpdatedAt),
		r.Index[0], r.Index[1], r.Index[2], r.Index[3], r.Data)
	if err != nil {
		return err
	}
	if n == 0 {
		ref := resource.Ref{Org: r.Org, Slug: r.Slug}
		if r.Slug == "" {
			ref = resource.Ref{ID: r.ID}
		}
		return resource.Exists(r.Kind, ref.String())
	}
	if err := t.dirty(r.Kind, r.ID); err != nil {
		return err
	}
	if err := t.insertLabels(name, r); err != nil {
		return err
	}
	return t.keepVersion(r)
}

func (t *txn) updateRow(r store.Row, labels bool) error {
	name, err := resource.KindName(r.Kind)
	if err != nil {
		return err
	}
	if err := t.slugFree(name, r); err != nil {
		return err
	}
	err = t.Exec(`UPDATE resources SET org=?, slug=?, name=?, visibility=?, version=?, created_at=?, updated_at=?,
		i1=?, i2=?, i3=?, i4=?, data=? WHERE kind=? AND id=?`,
		r.Org, r.Slug, r.Name, r.Visibility, r.Version, sqldb.Stamp(r.CreatedAt), sqldb.Stamp(r.UpdatedAt),
		r.Index[0], r.Index[1], r.Index[2], r.Index[3], r.Data, name, r.ID)
	if err != nil {
		return err
	}
	if err := t.keepVersion(r); err != nil || !labels {
		return err
	}
	if err := t.Exec("DELETE FROM resource_labels WHERE kind = ? AND id = ?", name, r.ID); err != nil {
		return err
	}
	return t.insertLabels(name, r)
}

// slugFree refuses a slug that another row of the kind has.
func (t *txn) slugFree(kind string, r store.Row) error {
	if r.Slug == "" {
		return nil
	}
	var other string
	err := t.Row("SELECT id FROM resources WHERE kind = ? AND org = ? AND slug = ? AND slug <> '' AND id <> ?", kind, r.Org, r.Slug, r.ID).Scan(&other)
	switch {
	case noRows(err):
		return nil
	case err != nil:
		return err
	}
	return resource.Exists(r.Kind, resource.Ref{Org: r.Org, Slug: r.Slug}.String())
}

func (t *txn) insertLabels(kind string, r store.Row) error {
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		if err := t.Exec("INSERT INTO resource_labels (kind, id, key, value) VALUES (?,?,?,?)", kind, r.ID, key, r.Labels[key]); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) deleteRow(kind resource.Kind, id string) error {
	name, err := resource.KindName(kind)
	if err != nil {
		return err
	}
	if err := t.Exec("DELETE FROM resource_labels WHERE kind = ? AND id = ?", name, id); err != nil {
		return err
	}
	if err := t.dirty(kind, id); err != nil {
		return err
	}
	if err := t.deleteBudgetsOf(kind, id); err != nil {
		return err
	}
	if resource.Meta(kind).GetVersioned() {
		if _, err := t.deleteHistory(kind, id); err != nil {
			return err
		}
	}
	return t.Exec("DELETE FROM resources WHERE kind = ? AND id = ?", name, id)
}
