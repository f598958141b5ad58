package catalogue

import (
	"math"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// mostNano bounds what one request costs, at a million dollars, so that no sum of them
// overflows.
const mostNano = 1e15

// nanoPerToken is how many billionths of a dollar one token costs for each dollar
// per million tokens.
const nanoPerToken = 1000

// Cost fills in what one request to a model cost: cost_nano_usd, or unpriced_calls
// when its price is not known. u is one request's and not nil; other fields are
// left as they are.
func (c *Catalogue) Cost(name string, u *messagev1.Usage, now time.Time) {
	u.CostNanoUsd, u.UnpricedCalls = 0, 0
	e, _ := c.Find(name)
	p := e.PriceAt(now)
	if p == nil {
		u.UnpricedCalls = 1
		return
	}
	u.CostNanoUsd = p.rates(u.GetInputTokens()).cost(u)
}

// rates are those of a request with so many input tokens: the whole request has
// them, not only what is above the border.
func (p *Price) rates(input int64) Rates {
	if p.Long != nil && input > p.LongAbove {
		return *p.Long
	}
	return p.Rates
}

func (r Rates) cost(u *messagev1.Usage) int64 {
	cached := min(u.GetCachedInputTokens(), u.GetInputTokens())
	written := min(u.GetCacheWriteInputTokens(), u.GetInputTokens()-cached)
	dollarsPerMillion := r.Input*float64(u.GetInputTokens()-cached-written) +
		or(r.CachedInput, r.Input)*float64(cached) +
		or(r.CacheWrite, r.Input)*float64(written) +
		r.Output*float64(u.GetOutputTokens())
	nano := math.Round(dollarsPerMillion * nanoPerToken)
	return int64(min(nano, mostNano))
}

func or(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}
