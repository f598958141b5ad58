package store_test

import (
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// Periods begin at midnight in UTC, weeks on Mondays, months on their first day.
func TestPeriodsBeginInUTC(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 14*3600)
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		period      store.BudgetPeriod
		at          time.Time
		start, next time.Time
	}{
		{store.PeriodDay, time.Date(2026, 12, 1, 9, 0, 0, 0, east), day(2026, 11, 30), day(2026, 12, 1)},
		{store.PeriodDay, day(2026, 12, 31), day(2026, 12, 31), day(2027, 1, 1)},
		{store.PeriodWeek, time.Date(2026, 11, 29, 23, 59, 59, 0, time.UTC), day(2026, 11, 23), day(2026, 11, 30)}, // a Sunday
		{store.PeriodWeek, day(2026, 11, 30), day(2026, 11, 30), day(2026, 12, 7)},
		{store.PeriodMonth, time.Date(2026, 12, 1, 9, 0, 0, 0, east), day(2026, 11, 1), day(2026, 12, 1)},
		{store.PeriodMonth, time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC), day(2028, 2, 1), day(2028, 3, 1)},
		{store.PeriodNone, day(2026, 12, 1), time.Time{}, time.Time{}},
	} {
		if start, next := c.period.Start(c.at), c.period.Next(c.at); !start.Equal(c.start) || !next.Equal(c.next) {
			t.Errorf("%q at %v begins at %v, and the next at %v, want %v and %v", c.period, c.at, start, next, c.start, c.next)
		}
	}
}

// What a person bounds above nothing is no missing bound.
func TestNanoUSD(t *testing.T) {
	t.Parallel()
	for usd, want := range map[float64]int64{0: 0, 1e-12: 1, 0.1: 100_000_000, 12.34: 12_340_000_000, 1_000_000: 1_000_000_000_000_000} {
		if got := store.NanoUSD(usd); got != want {
			t.Errorf("%v is %d, want %d", usd, got, want)
		}
	}
}
