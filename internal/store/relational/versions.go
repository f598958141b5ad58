package relational

import (
	"context"
	"strconv"

	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

const versionColumns = "number, hash, data, created_at"

// SaveVersion adds an entry to a resource's history.
func (s *Store) SaveVersion(ctx context.Context, v store.Version) (store.Version, error) {
	v.Hash = store.VersionHash(v.Data)
	wanted := v.Number
	err := s.do(ctx, "save_version", "", func(t *txn) error {
		name, newest, err := t.historyOf(v.Kind, v.ID)
		if err != nil {
			return err
		}
		if v.Number = wanted; wanted == 0 {
			v.Number = newest + 1
		}
		if v.Number <= newest {
			return store.ErrVersionExists.Saying("the history of %s goes to version %d: version %d cannot be added", v.ID, newest, v.Number).With("id", v.ID)
		}
		return t.insertVersion(name, v)
	})
	return v, err
}

// historyOf locks a resource's history and answers the number of its newest entry.
func (t *txn) historyOf(kind resource.Kind, id string) (name string, newest int64, err error) {
	if name, err = resource.KindName(kind); err != nil {
		return "", 0, err
	}
	if err := t.lock("history:" + name + "/" + id); err != nil {
		return "", 0, err
	}
	err = t.Row("SELECT COALESCE(max(number), 0) FROM version_history WHERE kind = ? AND resource_id = ?", name, id).Scan(&newest)
	return name, newest, err
}

func (t *txn) insertVersion(kind string, v store.Version) error {
	return t.Exec("INSERT INTO version_history (kind, resource_id, "+versionColumns+") VALUES (?,?,?,?,?,?)",
		kind, v.ID, v.Number, v.Hash, notNull(v.Data), sqldb.Stamp(v.At))
}

// keepVersion adds a row's bytes to its history, when its kind has one and the row's
// version rose.
func (t *txn) keepVersion(r store.Row) error {
	if !resource.Meta(r.Kind).GetVersioned() {
		return nil
	}
	name, newest, err := t.historyOf(r.Kind, r.ID)
	if err != nil || r.Version <= newest {
		return err
	}
	return t.insertVersion(name, store.Version{ID: r.ID, Number: r.Version, Hash: store.VersionHash(r.Data), Data: r.Data, At: r.UpdatedAt})
}

// VersionByHash answers the newest entry with these bytes.
func (s *Store) VersionByHash(ctx context.Context, kind resource.Kind, id, hash string) (store.Version, error) {
	return s.version(ctx, kind, id, hash, "hash = ? ORDER BY number DESC LIMIT 1", hash)
}

// VersionByNumber answers one entry.
func (s *Store) VersionByNumber(ctx context.Context, kind resource.Kind, id string, number int64) (store.Version, error) {
	return s.version(ctx, kind, id, strconv.FormatInt(number, 10), "number = ?", number)
}

// VersionByTag answers the entry that holds a tag.
func (s *Store) VersionByTag(ctx context.Context, kind resource.Kind, id, tag string) (store.Version, error) {
	return s.version(ctx, kind, id, tag, `number = (SELECT t.number FROM version_tags t
		WHERE t.kind = version_history.kind AND t.resource_id = version_history.resource_id AND t.tag = ?)`, tag)
}

func (s *Store) version(ctx context.Context, kind resource.Kind, id, version, where string, arg any) (store.Version, error) {
	all, err := s.versions(ctx, kind, id, where, arg)
	if err == nil && len(all) == 0 {
		return store.Version{}, resource.NotFound(kind, resource.Ref{ID: id, Version: version}.String())
	}
	if err != nil {
		return store.Version{}, err
	}
	return all[0], nil
}

// ListVersions answers entries, the newest first.
func (s *Store) ListVersions(ctx context.Context, kind resource.Kind, id string, before int64, limit int) ([]store.Version, error) {
	if limit <= 0 {
		return nil, badQuery("versions with the limit %d", limit)
	}
	return s.versions(ctx, kind, id, "(CAST(? AS BIGINT) = 0 OR number < ?) ORDER BY number DESC LIMIT ?", before, before, limit)
}

func (s *Store) versions(ctx context.Context, kind resource.Kind, id, where string, args ...any) ([]store.Version, error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return nil, err
	}
	var all []store.Version
	err = s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		v := store.Version{Kind: kind, ID: id}
		var at string
		err := r.Scan(&v.Number, &v.Hash, &v.Data, &at)
		v.At = sqldb.Unstamp(at)
		all = append(all, v)
		return err
	}, "SELECT "+versionColumns+" FROM version_history WHERE kind = ? AND resource_id = ? AND "+where, append([]any{name, id}, args...)...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all, s.addTags(ctx, name, id, all)
}

// addTags reads which tags point at versions of one resource.
func (s *Store) addTags(ctx context.Context, kind, id string, all []store.Version) error {
	at := map[int64]int{}
	for i, v := range all {
		at[v.Number] = i
	}
	return s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		var tag string
		var number int64
		if err := r.Scan(&tag, &number); err != nil {
			return err
		}
		if i, ok := at[number]; ok {
			all[i].Tags = append(all[i].Tags, tag)
		}
		return nil
	}, "SELECT tag, number FROM version_tags WHERE kind = ? AND resource_id = ? ORDER BY tag", kind, id)
}

// TagVersion moves a tag.
func (s *Store) TagVersion(ctx context.Context, kind resource.Kind, id, hash, tag string) error {
	return s.do(ctx, "tag_version", "", func(t *txn) error {
		name, _, err := t.historyOf(kind, id)
		if err != nil {
			return err
		}
		var number int64
		err = t.Row("SELECT number FROM version_history WHERE kind = ? AND resource_id = ? AND hash = ? ORDER BY number DESC LIMIT 1", name, id, hash).Scan(&number)
		if noRows(err) {
			return resource.NotFound(kind, resource.Ref{ID: id, Version: hash}.String())
		}
		if err != nil {
			return err
		}
		return t.Exec(`INSERT INTO version_tags (kind, resource_id, tag, number) VALUES (?,?,?,?)
			ON CONFLICT (kind, resource_id, tag) DO UPDATE SET number = excluded.number`, name, id, tag, number)
	})
}

// LatestVersion is the hash of the newest entry.
func (s *Store) LatestVersion(ctx context.Context, kind resource.Kind, id string) (hash string, err error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return "", err
	}
	err = s.db.Read(ctx).Row("SELECT hash FROM version_history WHERE kind = ? AND resource_id = ? ORDER BY number DESC LIMIT 1", name, id).Scan(&hash)
	if noRows(err) {
		return "", nil
	}
	return hash, err
}

// CountVersions counts a resource's entries.
func (s *Store) CountVersions(ctx context.Context, kind resource.Kind, id string) (n int64, err error) {
	name, err := resource.KindName(kind)
	if err != nil {
		return 0, err
	}
	err = s.db.Read(ctx).Row("SELECT count(*) FROM version_history WHERE kind = ? AND resource_id = ?", name, id).Scan(&n)
	return n, err
}

// DeleteVersions removes a resource's history.
func (s *Store) DeleteVersions(ctx context.Context, kind resource.Kind, id string) (n int64, err error) {
	err = s.do(ctx, "delete_versions", "", func(t *txn) error {
		n, err = t.deleteHistory(kind, id)
		return err
	})
	return n, err
}

func (t *txn) deleteHistory(kind resource.Kind, id string) (int64, error) {
	name, _, err := t.historyOf(kind, id)
	if err != nil {
		return 0, err
	}
	if err := t.Exec("DELETE FROM version_tags WHERE kind = ? AND resource_id = ?", name, id); err != nil {
		return 0, err
	}
	return t.Affect("DELETE FROM version_history WHERE kind = ? AND resource_id = ?", name, id)
}
