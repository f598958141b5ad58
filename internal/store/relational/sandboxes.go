package relational

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// HoldSandbox notes a holder, and makes a cold sandbox the caller's to warm.
func (s *Store) HoldSandbox(ctx context.Context, h store.SandboxHold) (store.SandboxLease, error) {
	var l store.SandboxLease
	if h.Scope == "" || h.ID == "" || h.Holder.ID == "" || h.Limit <= 0 {
		return l, fault.New(fault.InvalidArgument, "BAD_SANDBOX_HOLD", "a hold of a sandbox has its scope and id, a holder and a limit above 0")
	}
	err := s.do(ctx, "hold_sandbox", "", func(t *txn) (err error) {
		if l, err = t.sandboxRow(h.SandboxKey); err != nil {
			return err
		}
		free := over(l, h.Node, h.Boot, h.Now)
		if l.Node != "" && l.Node != h.Node || l.Liveness == store.SandboxDraining && !free {
			l.Holders, err = holders(t, h.SandboxKey)
			return err
		}
		if l.Liveness == store.SandboxCold || l.Liveness != store.SandboxWarm && free {
			l.Liveness, l.Epoch, l.Node, l.Boot, l.Until = store.SandboxWarming, l.Epoch+1, h.Node, h.Boot, h.Now.Add(h.Limit)
			l.Warm, l.Deadline = time.Time{}, time.Time{}
		}
		if err := t.Exec(`INSERT INTO sandbox_holders (scope, id, holder, execution, until_at) VALUES (?,?,?,?,?)
			ON CONFLICT (scope, id, holder) DO UPDATE SET until_at = excluded.until_at`,
			h.Scope, h.ID, h.Holder.ID, h.Holder.Execution, sqldb.Stamp(h.Holder.Until)); err != nil {
			return err
		}
		l.Idle = time.Time{}
		if l.Holders, err = holders(t, h.SandboxKey); err != nil {
			return err
		}
		return t.putSandbox(l)
	})
	return l, err
}

// over tells whether another process may take over what one began to warm or drain.
func over(l store.SandboxLease, node, boot string, now time.Time) bool {
	return !now.Before(l.Until) || l.Node != "" && l.Node == node && l.Boot != boot
}

// WarmedSandbox ends a warming.
func (s *Store) WarmedSandbox(ctx context.Context, l store.SandboxLease, now time.Time) error {
	return s.changeSandbox(ctx, "warmed_sandbox", l, func(t *txn, is *store.SandboxLease) (bool, error) {
		if is.Liveness != store.SandboxWarming || is.Boot != l.Boot {
			return false, nil
		}
		held, err := t.heldSandbox(l.SandboxKey, now)
		is.Liveness, is.Until, is.Warm = store.SandboxWarm, time.Time{}, now
		is.Node, is.Image, is.Root, is.Deadline = l.Node, l.Image, l.Root, l.Deadline
		if !held {
			is.Idle = now
		}
		return true, err
	})
}

// CooledSandbox notes that a sandbox does not run.
func (s *Store) CooledSandbox(ctx context.Context, l store.SandboxLease, _ time.Time) error {
	return s.changeSandbox(ctx, "cooled_sandbox", l, func(_ *txn, is *store.SandboxLease) (bool, error) {
		if is.Liveness != store.SandboxWarming && is.Liveness != store.SandboxWarm {
			return false, nil
		}
		cool(is)
		return true, nil
	})
}

func cool(l *store.SandboxLease) {
	l.Liveness, l.Boot = store.SandboxCold, ""
	l.Until, l.Warm, l.Idle, l.Deadline = time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// ReleaseSandbox forgets a holder.
func (s *Store) ReleaseSandbox(ctx context.Context, k store.SandboxKey, holder string, now time.Time) error {
	return s.do(ctx, "release_sandbox", "", func(t *txn) error {
		is, err := sandbox(t, k, t.dialect.ForUpdate)
		if err != nil {
			if noRows(err) {
				err = nil
			}
			return err
		}
		if err := t.Exec("DELETE FROM sandbox_holders WHERE scope = ? AND id = ? AND holder = ?", k.Scope, k.ID, holder); err != nil {
			return err
		}
		held, err := t.heldSandbox(k, now)
		if err != nil || held || is.Liveness != store.SandboxWarm || !is.Idle.IsZero() {
			return err
		}
		is.Idle = now
		return t.putSandbox(is)
	})
}

// DrainSandbox makes a sandbox the caller's to end.
func (s *Store) DrainSandbox(ctx context.Context, d store.SandboxDrain) (store.SandboxLease, error) {
	var l store.SandboxLease
	err := s.do(ctx, "drain_sandbox", "", func(t *txn) (err error) {
		if l, err = t.sandboxRow(d.SandboxKey); err != nil {
			return err
		}
		switch {
		case d.Epoch != 0 && d.Epoch != l.Epoch:
			return store.ErrSandboxLost
		case l.Node != "" && l.Node != d.Node:
			return store.ErrSandboxBusy.Saying("the sandbox of %s lies on another server (%s)", l.ID, l.Node)
		case (l.Liveness == store.SandboxWarming || l.Liveness == store.SandboxDraining) && !over(l, d.Node, d.Boot, d.Now):
			return store.ErrSandboxBusy.Saying("the sandbox of %s is %s until %s at the latest; try again then", l.ID, l.Liveness, l.Until.Format(time.RFC3339))
		}
		held, err := t.heldSandbox(d.SandboxKey, d.Now)
		if err != nil {
			return err
		}
		if held && !d.Held {
			return store.ErrSandboxHeld.Saying("the sandbox of %s is in use", l.ID)
		}
		l.Liveness, l.Node, l.Boot, l.Until = store.SandboxDraining, d.Node, d.Boot, d.Now.Add(d.Limit)
		return t.putSandbox(l)
	})
	return l, err
}

// DrainedSandbox ends a draining.
func (s *Store) DrainedSandbox(ctx context.Context, l store.SandboxLease, gone bool, _ time.Time) error {
	return s.changeSandbox(ctx, "drained_sandbox", l, func(t *txn, is *store.SandboxLease) (bool, error) {
		if is.Liveness != store.SandboxDraining || is.Boot != l.Boot {
			return false, nil
		}
		if !gone {
			cool(is)
			return true, nil
		}
		for _, table := range []string{"sandboxes", "sandbox_holders"} {
			if err := t.Exec("DELETE FROM "+table+" WHERE scope = ? AND id = ?", l.Scope, l.ID); err != nil {
				return false, err
			}
		}
		is.ID = ""
		return true, nil
	})
}

// ForgetHolders removes holders that are alive no more.
func (s *Store) ForgetHolders(ctx context.Context, now time.Time) (n int64, err error) {
	err = s.do(ctx, "forget_holders", "", func(t *txn) error {
		if n, err = t.Affect("DELETE FROM sandbox_holders WHERE NOT ("+aliveHolder+")", sqldb.Stamp(now)); err != nil {
			return err
		}
		return t.Exec(`UPDATE sandboxes SET idle_at = ? WHERE liveness = 'warm' AND idle_at = ''
			AND NOT EXISTS (SELECT 1 FROM sandbox_holders h WHERE h.scope = sandboxes.scope AND h.id = sandboxes.id)`, sqldb.Stamp(now))
	})
	return n, err
}

// aliveHolder is what a row of sandbox_holders has to be so that its sandbox is in use.
const aliveHolder = `until_at > ? OR until_at = '' AND EXISTS (SELECT 1 FROM attempts WHERE attempts.id = sandbox_holders.holder AND attempts.state = 'live')`

func (t *txn) heldSandbox(k store.SandboxKey, now time.Time) (bool, error) {
	var n int
	err := t.Row("SELECT count(*) FROM sandbox_holders WHERE scope = ? AND id = ? AND ("+aliveHolder+")", k.Scope, k.ID, sqldb.Stamp(now)).Scan(&n)
	return n > 0, err
}

// changeSandbox changes a lease of l's epoch. A change that does not fit what is there
// answers false.
func (s *Store) changeSandbox(ctx context.Context, name string, l store.SandboxLease, change func(*txn, *store.SandboxLease) (bool, error)) error {
	return s.do(ctx, name, "", func(t *txn) error {
		is, err := sandbox(t, l.SandboxKey, t.dialect.ForUpdate)
		if noRows(err) || err == nil && is.Epoch != l.Epoch {
			return store.ErrSandboxLost
		}
		if err != nil {
			return err
		}
		fits, err := change(t, &is)
		switch {
		case err != nil:
			return err
		case !fits:
			return store.ErrSandboxLost
		case is.ID == "":
			return nil
		}
		return t.putSandbox(is)
	})
}

const sandboxColumns = "scope, id, liveness, epoch, node, boot, until_at, image, root, warm_at, idle_at, deadline"

// sandboxRow reads a lease for a change, and makes a cold one where there is none.
func (t *txn) sandboxRow(k store.SandboxKey) (store.SandboxLease, error) {
	if err := t.Exec("INSERT INTO sandboxes (scope, id, liveness, epoch) VALUES (?,?,'cold',0) ON CONFLICT (scope, id) DO NOTHING", k.Scope, k.ID); err != nil {
		return store.SandboxLease{}, err
	}
	return sandbox(t, k, t.dialect.ForUpdate)
}

func (t *txn) putSandbox(l store.SandboxLease) error {
	return t.Exec(`UPDATE sandboxes SET liveness = ?, epoch = ?, node = ?, boot = ?, until_at = ?, image = ?, root = ?, warm_at = ?, idle_at = ?, deadline = ?
		WHERE scope = ? AND id = ?`, string(l.Liveness), l.Epoch, l.Node, l.Boot, sqldb.Stamp(l.Until), l.Image, l.Root,
		sqldb.Stamp(l.Warm), sqldb.Stamp(l.Idle), sqldb.Stamp(l.Deadline), l.Scope, l.ID)
}

func sandbox(q sqldb.Querier, k store.SandboxKey, lock string) (store.SandboxLease, error) {
	return scanSandbox(q.Row("SELECT "+sandboxColumns+" FROM sandboxes WHERE scope = ? AND id = ?"+lock, k.Scope, k.ID))
}

func scanSandbox(row sqldb.Scanner) (l store.SandboxLease, err error) {
	var liveness string
	var times [4]string
	if err := row.Scan(&l.Scope, &l.ID, &liveness, &l.Epoch, &l.Node, &l.Boot, &times[0], &l.Image, &l.Root, &times[1], &times[2], &times[3]); err != nil {
		return l, err
	}
	l.Liveness = store.Liveness(liveness)
	for i, into := range []*time.Time{&l.Until, &l.Warm, &l.Idle, &l.Deadline} {
		*into = sqldb.Unstamp(times[i])
	}
	return l, nil
}

// Sandbox reads a lease.
func (s *Store) Sandbox(ctx context.Context, k store.SandboxKey) (store.SandboxLease, error) {
	q := s.db.Read(ctx)
	l, err := sandbox(q, k, "")
	if noRows(err) {
		return l, store.ErrNotFound.Saying("there is no sandbox of the %s %s", k.Scope, k.ID)
	}
	if err == nil {
		l.Holders, err = holders(q, k)
	}
	return l, err
}

// Sandboxes answers leases in the order of their keys.
func (s *Store) Sandboxes(ctx context.Context, after store.SandboxKey, limit int) (all []store.SandboxLease, err error) {
	q := s.db.Read(ctx)
	err = q.Rows(func(row sqldb.Scanner) error {
		l, err := scanSandbox(row)
		all = append(all, l)
		return err
	}, "SELECT "+sandboxColumns+" FROM sandboxes WHERE scope > ? OR scope = ? AND id > ? ORDER BY scope, id LIMIT ?", after.Scope, after.Scope, after.ID, limit)
	for i := range all {
		if err == nil {
			all[i].Holders, err = holders(q, all[i].SandboxKey)
		}
	}
	return all, err
}

func holders(q sqldb.Querier, k store.SandboxKey) (all []store.SandboxHolder, err error) {
	err = q.Rows(func(row sqldb.Scanner) error {
		var h store.SandboxHolder
		var until string
		err := row.Scan(&h.ID, &h.Execution, &until)
		h.Until = sqldb.Unstamp(until)
		all = append(all, h)
		return err
	}, "SELECT holder, execution, until_at FROM sandbox_holders WHERE scope = ? AND id = ? ORDER BY holder", k.Scope, k.ID)
	return all, err
}
