package postgres_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// quality.md, Reliability 8: two handles of one database, as two servers have.
func TestTwoServersOnOneDatabase(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T) (a, b store.Store) {
		url := postgrestest.Shared(t).URL(t)
		return openURL(t, url), openURL(t, url)
	})
}

func TestTheHistoryOfABrokenLedgerIsFound(t *testing.T) {
	t.Parallel()
	storetest.FindsBroken(t, open)
}
