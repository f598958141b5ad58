package postings_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/search/postings"
	"github.com/cadre-dev/cadre/internal/search/searchtest"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func open(t testing.TB) func() searchtest.Store {
	t.Helper()
	url := postgrestest.Shared(t).URL(t)
	return func() searchtest.Store {
		t.Helper()
		s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
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
	searchtest.Run(t, open, postings.New)
}
