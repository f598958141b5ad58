package store

import "time"

// Start is when the period began that a moment lies in; zero when budgets of this kind
// never begin anew.
func (p BudgetPeriod) Start(at time.Time) time.Time {
	at = at.UTC()
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	switch p {
	case PeriodDay:
		return day
	case PeriodWeek:
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case PeriodMonth:
		return day.AddDate(0, 0, 1-day.Day())
	}
	return time.Time{}
}

// Next is when the period after it begins; zero when none does.
func (p BudgetPeriod) Next(at time.Time) time.Time {
	start := p.Start(at)
	switch p {
	case PeriodDay:
		return start.AddDate(0, 0, 1)
	case PeriodWeek:
		return start.AddDate(0, 0, 7)
	case PeriodMonth:
		return start.AddDate(0, 1, 0)
	}
	return time.Time{}
}
