package fts5_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/search/fts5"
	"github.com/cadre-dev/cadre/internal/search/searchtest"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/sqlite/sqlitetest"
)

func open(t testing.TB) func() searchtest.Store {
	dir := sqlitetest.Fresh(t)
	return func() searchtest.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

// C140
func TestContract(t *testing.T) {
	t.Parallel()
	searchtest.Run(t, open, fts5.New)
}
