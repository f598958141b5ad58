package model

import "regexp"

// QuotaScope is which quota of an account at a provider is used up.
type QuotaScope string

// The scopes.
const (
	QuotaCredits QuotaScope = "credits" // money that was paid in
	QuotaMonthly QuotaScope = "monthly" // a spending limit, or one of a month
	QuotaDaily   QuotaScope = "daily"
	QuotaOther   QuotaScope = "quota" // the provider says that there is a quota, and not which
)

// Codes and words that name a quota.
var (
	creditLabels = []string{
		"billing_hard_limit_reached", "credit_balance_exhausted", "insufficient_credits", "insufficient_balance", "billing_not_active", "billing_error",
	}
	spendingLabels = []string{"spend_limit_reached", "monthly_spend_limit_reached"}
	balanceWords   = regexp.MustCompile(`credit|balance|funds|billing hard limit`)
	spendingWords  = regexp.MustCompile(`spend(ing)? (limit|cap)|per month|monthly`)
	dayWords       = regexp.MustCompile(`per day|daily|requests?_?per_?day|perday`)
)

// scope names what a failure of category Quota says is used up. Codes stand above
// wording.
func (f failure) scope() QuotaScope {
	switch {
	case f.status == 402 || f.label(creditLabels):
		return QuotaCredits
	case f.label(spendingLabels):
		return QuotaMonthly
	case f.spent == daily:
		return QuotaDaily
	case balanceWords.MatchString(f.text):
		return QuotaCredits
	case dayWords.MatchString(f.text):
		return QuotaDaily
	case spendingWords.MatchString(f.text):
		return QuotaMonthly
	}
	return QuotaOther
}

// UsedUp tells which quota is used up, "" for none. Of an error of category Quota
// there is always one. Of one of category RateLimited the evidence decides: its code, type,
// message and RetryAfter, and nothing else. No other category is looked into.
func (e *Error) UsedUp() QuotaScope {
	f := e.failure(e.Status)
	switch {
	case e.Category == Quota && e.Quota != "":
		return e.Quota
	case e.Category == Quota, e.Category == RateLimited && f.quota():
		return f.scope()
	}
	return ""
}

// Overflows tells whether e says that the conversation is longer than the model's window:
// by its category, or by the words of one that does not say better. A refusal never does,
// whatever else its text says.
func (e *Error) Overflows() bool {
	switch e.Category {
	case ContextTooLong:
		return true
	case BadRequest, ServerError:
		f := e.failure(e.Status)
		return f.label(overflowLabels) || overflowWords.MatchString(f.text)
	}
	return false
}
