package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

func TestTheHistoryOfABrokenLedgerIsFound(t *testing.T) {
	t.Parallel()
	storetest.FindsBroken(t, open)
}

// quality.md, Reliability 8: two handles of one database, as two processes have.
func TestTwoHandlesOfOneDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var handles []store.Ledger
	for range 2 {
		s, err := sqlite.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		handles = append(handles, s)
	}
	seed := uint64(time.Now().UnixNano())
	if err := storetest.Linearizable(t.Context(), seed, handles...); err != nil {
		t.Error(err)
	}
	storetest.OneWins(t, handles[0], handles[1])
	if matches, err := filepath.Glob(filepath.Join(dir, "*.db")); err != nil || len(matches) != 1 {
		t.Errorf("the handles use the files %v (%v)", matches, err)
	}
}
