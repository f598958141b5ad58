package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cadre-dev/cadre/internal/sqldb"
)

// Read reads what was committed. A read whose connection is lost before it gave
// anything is made again.
func (d *database) Read(ctx context.Context) sqldb.Querier { return reader{d, ctx} }

type reader struct {
	db  *database
	ctx context.Context
}

// Row reads one row.
func (r reader) Row(q string, args ...any) sqldb.Scanner { return one{r, q, args} }

type one struct {
	reader
	q    string
	args []any
}

func (o one) Scan(dest ...any) error {
	return o.again(func() (bool, error) {
		return true, o.db.pool.QueryRow(o.ctx, o.db.texts.of(o.q), o.args...).Scan(dest...)
	})
}

// Rows reads many rows.
func (r reader) Rows(scan func(sqldb.Scanner) error, q string, args ...any) error {
	return r.again(func() (bool, error) {
		rows, err := r.db.pool.Query(r.ctx, r.db.texts.of(q), args...)
		if err != nil {
			return true, err
		}
		untouched := true
		err = eachRaw(rows, func(s sqldb.Scanner) error {
			untouched = false
			return scan(s)
		})
		return untouched, err
	})
}

// eachRaw scans all rows and leaves errors as they are.
func eachRaw(rows pgx.Rows, scan func(sqldb.Scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// again makes a read until it is answered, as long as that may be: it gave nothing yet
// and only the connection was lost.
func (r reader) again(read func() (untouched bool, err error)) error {
	leave, err := r.db.enter()
	if err != nil {
		return err
	}
	defer leave()
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		untouched, err := read()
		if err == nil || !untouched || !cutOff(err) || time.Since(began) > patience || r.ctx.Err() != nil {
			return readFault(err)
		}
		select {
		case <-r.ctx.Done():
		case <-time.After(pause):
		}
	}
}
