package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
)

// slot is a place for one transaction at a time. Each transaction writes its token there
// first, and so holds the row until it ends: who locks the row afterwards knows that it
// ended, and by the token whether it was committed. The database's own transaction ids
// cannot tell: after a crash it gives those anew that nothing on its disk remembers.
type slot struct {
	name  string
	token int64
}

// begin opens a transaction with its bounds and its token, in one round trip.
// Everything is local to the transaction. The token is only written to the database with
// this id.
func (p *slot) begin(database string) string {
	return fmt.Sprintf(`BEGIN; SET LOCAL statement_timeout = '15s'; SET LOCAL lock_timeout = '10s';
SET LOCAL idle_in_transaction_session_timeout = '30s'; SET LOCAL synchronous_commit = on;
INSERT INTO commit_slots (slot, token, at) SELECT '%s', %d, clock_timestamp() FROM boot_state WHERE key = '%s' AND value = '%s'
ON CONFLICT (slot) DO UPDATE SET token = excluded.token, at = excluded.at`, p.name, p.token, identityKey, database)
}

// slots are the places of this process; there are as many as transactions at once.
type slots struct {
	mu   sync.Mutex
	idle []*slot
}

// take gives a place with a new token.
func (s *slots) take() *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		p := s.idle[n-1]
		s.idle = s.idle[:n-1]
		p.token++
		return p
	}
	return &slot{name: id.New("slt"), token: 1}
}

// free takes a place back, unless its transaction may still be there.
func (s *slots) free(p *slot, err error) {
	if cutOff(err) || errors.Is(err, errUnknown) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, p)
}

// sweep removes the places of processes that are long gone.
const sweep = "DELETE FROM commit_slots WHERE at < clock_timestamp() - interval '7 days'"

// commit ends the transaction. When its answer is lost, the database is asked what
// became of it.
func (d *database) commit(ctx context.Context, conn *pgxpool.Conn, p *slot) error {
	tag, err := conn.Exec(ctx, "COMMIT", pgx.QueryExecModeSimpleProtocol)
	switch {
	case err == nil && tag.String() == "ROLLBACK":
		return fault.New(fault.Internal, "INTERNAL", "internal error").Because(errors.New("a transaction with a failed statement was committed"))
	case err == nil:
		return nil
	case state(err) != "" && !cutOff(err):
		return err // refused, and rolled back
	}
	return d.outcome(ctx, p, err)
}

// outcome looks up a transaction whose end was not answered. It waits for that end.
func (d *database) outcome(ctx context.Context, p *slot, lost error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*patience)
	defer cancel()
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		var token int64
		err := d.pool.QueryRow(ctx, "SELECT token FROM commit_slots WHERE slot = $1 FOR UPDATE", p.name).Scan(&token)
		switch {
		case err == nil && token == p.token:
			return nil
		case err == nil, errors.Is(err, pgx.ErrNoRows):
			return lost
		case !cutOff(err):
			return unknown(lost)
		}
		rest(ctx, pause)
	}
	return unknown(lost)
}

var errUnknown = errors.New("the outcome of a commit is not known")

func unknown(err error) error {
	return fault.New(fault.Unavailable, "STORE_OUTCOME_UNKNOWN",
		"the PostgreSQL server was lost during a commit and does not come back: whether the last change was made is not known").Because(fmt.Errorf("%w: %s", errUnknown, err.Error()))
}
