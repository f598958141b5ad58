// Package relational is the contract of package store in SQL: every transaction
// and every query, written once for the databases that speak it. A driver brings
// the connections, the schema and what is its own (see package sqldb), and embeds
// a Store.
//
// It promises what package store asks for, with no more than this from the
// database: a row that is read for a change is locked until the transaction ends,
// and what two transactions do to one session comes in one order, because each
// locks the session's row first.
package relational

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// Store is the contract but for what its driver adds: OnCommit, Health and Close.
type Store struct {
	db       sqldb.DB
	dialect  sqldb.Dialect
	onChange atomic.Pointer[func()]
}

// New makes the contract over a database whose schema is up to date.
func New(db sqldb.DB) *Store { return &Store{db: db, dialect: db.Dialect()} }

// txn is the inside of one write transaction.
type txn struct {
	sqldb.Tx
	dialect sqldb.Dialect
	changed []changed // what the search index has to look at
}

// do runs fn in a transaction. key is the session that it changes: its row is locked
// first; "" when it changes no session.
func (s *Store) do(ctx context.Context, name, key string, fn func(*txn) error) error {
	var t *txn
	err := s.db.Write(ctx, name, key, func(tx sqldb.Tx) error {
		t = &txn{Tx: tx, dialect: s.dialect}
		if err := t.lockSession(key); err != nil {
			return err
		}
		if err := fn(t); err != nil {
			return err
		}
		return t.writeDirty()
	})
	if err == nil {
		s.tell(t)
	}
	return err
}

// lockSession locks a session's row, when there is one, where the database needs it.
func (t *txn) lockSession(session string) error {
	if session == "" || t.dialect.ForUpdate == "" {
		return nil
	}
	var one int
	err := t.Row("SELECT 1 FROM sessions WHERE id = ?"+t.dialect.ForUpdate, session).Scan(&one)
	if noRows(err) {
		return nil
	}
	return err
}

// lock locks a name until the transaction ends, where the database needs it.
func (t *txn) lock(name string) error {
	if t.dialect.Lock == "" {
		return nil
	}
	return t.Exec(t.dialect.Lock, name)
}

func noRows(err error) bool { return errors.Is(err, sqldb.ErrNoRows) }

// Capabilities are none: what a database can do, its driver says.
func (*Store) Capabilities() store.Capabilities { return store.Capabilities{} }

// BootState reads a fact of this database.
func (s *Store) BootState(ctx context.Context, key string) (string, error) {
	var v string
	err := s.db.Read(ctx).Row("SELECT value FROM boot_state WHERE key = ?", key).Scan(&v)
	if noRows(err) {
		return "", nil
	}
	return v, err
}

// SetBootState writes a fact of this database.
func (s *Store) SetBootState(ctx context.Context, key, value string) error {
	return s.do(ctx, "boot_state", "", func(t *txn) error {
		return t.Exec("INSERT INTO boot_state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)
	})
}

// InitBootState sets a fact unless it is set, and answers what it is.
func (s *Store) InitBootState(ctx context.Context, key, value string) (string, error) {
	is, err := s.BootState(ctx, key)
	if is != "" || err != nil {
		return is, err
	}
	err = s.do(ctx, "boot_state", "", func(t *txn) error {
		if err := t.Exec("INSERT INTO boot_state (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", key, value); err != nil {
			return err
		}
		return t.Row("SELECT value FROM boot_state WHERE key = ?", key).Scan(&is)
	})
	return is, err
}

// once answers whether a mutation was made before, and remembers it otherwise.
// The answer is written by keep, after the change.
func (t *txn) once(o *store.Once) error {
	if o == nil {
		return nil
	}
	answer, found, err := recall(t, o)
	if err != nil {
		return err
	}
	if found {
		return &store.Replayed{Answer: answer}
	}
	return nil
}

func (t *txn) keep(o *store.Once) error {
	if o == nil {
		return nil
	}
	if err := t.Exec("DELETE FROM idempotency WHERE expires_at < ?", o.Now.Unix()); err != nil {
		return err
	}
	return t.Exec("INSERT INTO idempotency (scope, digest, answer, expires_at) VALUES (?, ?, ?, ?)",
		o.Scope, o.Digest, o.Answer(), o.Now.Add(store.OnceKept).Unix())
}

func recall(q sqldb.Querier, o *store.Once) ([]byte, bool, error) {
	var digest string
	var answer []byte
	err := q.Row("SELECT digest, answer FROM idempotency WHERE scope = ? AND expires_at >= ?", o.Scope, o.Now.Unix()).Scan(&digest, &answer)
	switch {
	case noRows(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case digest != o.Digest:
		return nil, false, store.OtherBody(digest, o.Digest)
	}
	return answer, true, nil
}

// Recall answers what a call with the same key was answered.
func (s *Store) Recall(ctx context.Context, o *store.Once) ([]byte, bool, error) {
	return recall(s.db.Read(ctx), o)
}

// encode makes a message's bytes, which are never NULL in the database.
func encode(m proto.Message) ([]byte, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return notNull(data), err
}

// notNull makes bytes that are never NULL in the database.
func notNull(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
