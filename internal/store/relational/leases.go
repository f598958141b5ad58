package relational

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// AcquireLease takes a lease with the next epoch.
func (s *Store) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration, now time.Time) (store.Lease, error) {
	l := store.Lease{Name: name, Holder: holder, Expires: now.Add(ttl)}
	if name == "" || holder == "" || ttl <= 0 {
		return store.Lease{}, fault.New(fault.InvalidArgument, "BAD_LEASE", "a lease has a name, a holder and a time to live above 0")
	}
	err := s.do(ctx, "acquire_lease", "", func(t *txn) error {
		err := t.Row(`INSERT INTO leases (name, holder, epoch, expires_at) VALUES (?,?,1,?) ON CONFLICT (name) DO UPDATE SET
			holder = excluded.holder, epoch = leases.epoch + 1, expires_at = excluded.expires_at
			WHERE leases.holder = '' OR leases.holder = excluded.holder OR leases.expires_at <= ? RETURNING epoch`,
			name, holder, sqldb.Stamp(l.Expires), sqldb.Stamp(now)).Scan(&l.Epoch)
		if !noRows(err) {
			return err
		}
		held, err := lease(t, name)
		if err == nil {
			err = store.LeaseHeld(held)
		}
		return err
	})
	if err != nil {
		return store.Lease{}, err
	}
	return l, nil
}

// RenewLease moves a lease's expiry.
func (s *Store) RenewLease(ctx context.Context, l store.Lease, ttl time.Duration, now time.Time) (store.Lease, error) {
	was := sqldb.Stamp(now)
	l.Expires = now.Add(ttl)
	return l, s.mine(ctx, "renew_lease", l, "UPDATE leases SET expires_at = ? WHERE name = ? AND holder = ? AND epoch = ? AND expires_at > ?",
		sqldb.Stamp(l.Expires), l.Name, l.Holder, l.Epoch, was)
}

// ReleaseLease frees a lease's name.
func (s *Store) ReleaseLease(ctx context.Context, l store.Lease) error {
	return s.mine(ctx, "release_lease", l, "UPDATE leases SET holder = '', expires_at = '' WHERE name = ? AND holder = ? AND epoch = ?", l.Name, l.Holder, l.Epoch)
}

// mine changes a lease that is still l's.
func (s *Store) mine(ctx context.Context, name string, l store.Lease, q string, args ...any) error {
	n, err := s.remove(ctx, name, q, args...)
	if err == nil && n == 0 {
		err = store.ErrLeaseLost.Saying("%s no longer holds the lease %s (epoch %d): stop what you do under it", l.Holder, l.Name, l.Epoch).With("lease", l.Name)
	}
	return err
}

// Lease reads one.
func (s *Store) Lease(ctx context.Context, name string) (store.Lease, error) {
	l, err := lease(s.db.Read(ctx), name)
	if noRows(err) {
		return store.Lease{Name: name}, nil
	}
	return l, err
}

func lease(q sqldb.Querier, name string) (store.Lease, error) {
	l := store.Lease{Name: name}
	var expires string
	err := q.Row("SELECT holder, epoch, expires_at FROM leases WHERE name = ?", name).Scan(&l.Holder, &l.Epoch, &expires)
	l.Expires = sqldb.Unstamp(expires)
	return l, err
}
