package relational

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// ClaimSignal takes a signal's key, or says who has it.
func (s *Store) ClaimSignal(ctx context.Context, org, key, claim string, now time.Time) (got store.Signal, claimed bool, err error) {
	id := store.SignalID(org, key)
	err = s.do(ctx, "claim_signal", "", func(t *txn) error {
		n, err := t.Affect(`INSERT INTO signal_dedupe (id, claim, delivered, answer, expires_at) VALUES (?,?,?,'',?)
			ON CONFLICT (id) DO UPDATE SET claim = excluded.claim, delivered = excluded.delivered, answer = '', expires_at = excluded.expires_at
			WHERE signal_dedupe.expires_at <= ? OR signal_dedupe.claim = excluded.claim AND NOT signal_dedupe.delivered`,
			id, claim, false, sqldb.Stamp(now.Add(store.SignalClaimed)), sqldb.Stamp(now))
		if err != nil {
			return err
		}
		claimed = n > 0
		got = store.Signal{ID: id}
		var expires string
		err = t.Row("SELECT claim, delivered, answer, expires_at FROM signal_dedupe WHERE id = ?", id).Scan(&got.Claim, &got.Delivered, &got.Answer, &expires)
		got.ExpiresAt = sqldb.Unstamp(expires)
		return err
	})
	return got, claimed && err == nil, err
}

// DeliverSignal keeps a delivered signal's key.
func (s *Store) DeliverSignal(ctx context.Context, org, key, claim, answer string, now time.Time) (bool, error) {
	n, err := s.remove(ctx, "deliver_signal", "UPDATE signal_dedupe SET delivered = ?, answer = ?, expires_at = ? WHERE id = ? AND claim = ?",
		true, answer, sqldb.Stamp(now.Add(store.SignalDelivered)), store.SignalID(org, key), claim)
	return n > 0, err
}

// ReleaseSignal gives a claimed key back.
func (s *Store) ReleaseSignal(ctx context.Context, org, key, claim string) (bool, error) {
	n, err := s.remove(ctx, "release_signal", "DELETE FROM signal_dedupe WHERE id = ? AND claim = ? AND NOT delivered", store.SignalID(org, key), claim)
	return n > 0, err
}

// SweepSignals removes expired entries.
func (s *Store) SweepSignals(ctx context.Context, now time.Time) (int64, error) {
	return s.remove(ctx, "sweep_signals", "DELETE FROM signal_dedupe WHERE expires_at <= ?", sqldb.Stamp(now))
}
