package postgres_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func open(t *testing.T) store.Store { return openURL(t, postgrestest.Shared(t).URL(t)) }

func openURL(t *testing.T, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// C106
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}
