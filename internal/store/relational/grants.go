package relational

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// PutGrant stores a grant.
func (s *Store) PutGrant(ctx context.Context, g store.Grant) error {
	return s.do(ctx, "put_grant", "", func(t *txn) error {
		return t.Exec(`INSERT INTO oauth_grant (identity_id, resource_id, org_id, sealed, expires_at, updated_at) VALUES (?,?,?,?,?,?)
			ON CONFLICT (identity_id, resource_id, org_id) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at, updated_at = excluded.updated_at`,
			g.Identity, g.Resource, g.Org, notNull(g.Sealed), sqldb.Stamp(g.ExpiresAt), sqldb.Stamp(g.UpdatedAt))
	})
}

const whoseGrant = " FROM oauth_grant WHERE identity_id = ? AND resource_id = ? AND org_id = ?"

// Grant reads one.
func (s *Store) Grant(ctx context.Context, k store.GrantKey) (store.Grant, error) {
	g := store.Grant{GrantKey: k}
	var expires, updated string
	err := s.db.Read(ctx).Row("SELECT sealed, expires_at, updated_at"+whoseGrant, k.Identity, k.Resource, k.Org).Scan(&g.Sealed, &expires, &updated)
	if noRows(err) {
		return g, store.ErrNoGrant
	}
	g.ExpiresAt, g.UpdatedAt = sqldb.Unstamp(expires), sqldb.Unstamp(updated)
	return g, err
}

// DeleteGrant removes one.
func (s *Store) DeleteGrant(ctx context.Context, k store.GrantKey) error {
	_, err := s.remove(ctx, "delete_grant", "DELETE"+whoseGrant, k.Identity, k.Resource, k.Org)
	return err
}

// DeleteGrantsOf removes all grants for a resource.
func (s *Store) DeleteGrantsOf(ctx context.Context, resource, org string) (int64, error) {
	return s.remove(ctx, "delete_grants", "DELETE FROM oauth_grant WHERE resource_id = ? AND org_id = ?", resource, org)
}

// PutPendingAuthorization remembers an authorization that somebody began.
func (s *Store) PutPendingAuthorization(ctx context.Context, state string, sealed []byte, now time.Time) error {
	return s.do(ctx, "put_pending_authorization", "", func(t *txn) error {
		if err := t.Exec("DELETE FROM pending_oauth_state WHERE expires_at <= ?", sqldb.Stamp(now)); err != nil {
			return err
		}
		n, err := t.Affect("INSERT INTO pending_oauth_state (state, sealed, expires_at) VALUES (?,?,?) ON CONFLICT DO NOTHING",
			state, notNull(sealed), sqldb.Stamp(now.Add(store.PendingAuthorizationKept)))
		if err == nil && n == 0 {
			err = store.ErrStateTaken
		}
		return err
	})
}

// TakePendingAuthorization answers and removes it.
func (s *Store) TakePendingAuthorization(ctx context.Context, state string, now time.Time) ([]byte, error) {
	var sealed []byte
	var expires string
	err := s.do(ctx, "take_pending_authorization", "", func(t *txn) error {
		return t.Row("DELETE FROM pending_oauth_state WHERE state = ? RETURNING sealed, expires_at", state).Scan(&sealed, &expires)
	})
	if noRows(err) || err == nil && !sqldb.Unstamp(expires).After(now) { // an expired one is gone all the same
		return nil, store.ErrNoPendingAuthorization
	}
	if err != nil {
		return nil, err
	}
	return sealed, nil
}
