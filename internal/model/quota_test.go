package model_test

import (
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
)

// TestQuotaEvidence: code, type, message and the time to wait are the evidence, and they
// are looked at of a rate limit only. T11
func TestQuotaEvidence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  model.Error
		want model.QuotaScope
	}{
		"code":                        {model.Error{Category: model.RateLimited, Code: "insufficient_quota"}, model.QuotaOther},
		"type without a code":         {model.Error{Category: model.RateLimited, Type: "insufficient_credits"}, model.QuotaCredits},
		"type beside a broad code":    {model.Error{Category: model.RateLimited, Code: "resource_exhausted", Type: "insufficient_quota"}, model.QuotaOther},
		"message":                     {model.Error{Category: model.RateLimited, Message: "Your credit balance is too low"}, model.QuotaCredits},
		"message, of a day":           {model.Error{Category: model.RateLimited, Message: "limit of 50 requests per day"}, model.QuotaDaily},
		"message, of a month":         {model.Error{Category: model.RateLimited, Message: "monthly limit reached"}, model.QuotaMonthly},
		"time":                        {model.Error{Category: model.RateLimited, RetryAfter: 15*time.Minute + time.Second}, model.QuotaOther},
		"time above words":            {model.Error{Category: model.RateLimited, Message: "requests per minute", RetryAfter: time.Hour}, model.QuotaOther},
		"the longest time of a rate":  {model.Error{Category: model.RateLimited, RetryAfter: 15 * time.Minute}, ""},
		"a short time above words":    {model.Error{Category: model.RateLimited, Message: "limit per day", RetryAfter: time.Second}, ""},
		"words of a minute":           {model.Error{Category: model.RateLimited, Message: "limit per minute"}, ""},
		"nothing":                     {model.Error{Category: model.RateLimited}, ""},
		"a quota":                     {model.Error{Category: model.Quota}, model.QuotaOther},
		"a quota that says which":     {model.Error{Category: model.Quota, Quota: model.QuotaDaily, Message: "credit"}, model.QuotaDaily},
		"unavailable is not asked":    {model.Error{Category: model.Overloaded, Code: "insufficient_quota", RetryAfter: time.Hour}, ""},
		"a refusal is not asked":      {model.Error{Category: model.Refused, Code: "insufficient_quota"}, ""},
		"a bad request is not asked":  {model.Error{Category: model.BadRequest, Message: "quota per day"}, ""},
		"the status of a payment":     {*model.FromResponse(402, nil, []byte(`{}`), time.Time{}), model.QuotaCredits},
		"an allowance of a day":       {*model.FromResponse(429, nil, []byte(quotaFailure("RequestsPerDay")), time.Time{}), model.QuotaDaily},
		"an allowance of a minute":    {*model.FromResponse(429, nil, []byte(quotaFailure("RequestsPerMinute")), time.Time{}), ""},
		"a spending limit as a 400":   {*model.FromResponse(400, nil, []byte(`{"error":{"message":"you have reached your spending limit"}}`), time.Time{}), model.QuotaMonthly},
		"a quota that names no scope": {*model.FromResponse(429, nil, []byte(`{"error":{"code":"insufficient_quota"}}`), time.Time{}), model.QuotaOther},
	} {
		if got := c.err.UsedUp(); got != c.want {
			t.Errorf("%s: %q is used up, want %q", name, got, c.want)
		}
	}
}

// TestOverflows: a refusal is none, whatever its text says, and what says better is not
// looked into. T5, T14
func TestOverflows(t *testing.T) {
	t.Parallel()
	const words = "This model's maximum context length is 8192 tokens"
	for c, want := range map[model.Category]bool{
		model.Refused: false, model.RateLimited: false, model.Quota: false, model.Overloaded: false, model.Authentication: false,
		model.BadRequest: true, model.ServerError: true, model.ContextTooLong: true,
	} {
		if got := (&model.Error{Category: c, Message: words}).Overflows(); got != want {
			t.Errorf("%s with such words overflows: %t", c, got)
		}
	}
	if (&model.Error{Category: model.BadRequest, Message: "x"}).Overflows() || !(&model.Error{Category: model.BadRequest, Code: "context_length_exceeded"}).Overflows() {
		t.Error("the code does not decide where words say nothing")
	}
}
