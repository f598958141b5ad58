package catalogue

import (
	"time"

	modelv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/model/v1"
)

// Models are the entries in the form of the contract, with the prices that hold
// at a moment. Whether they can be used is not told.
func (c *Catalogue) Models(now time.Time) []*modelv1.Model {
	all := make([]*modelv1.Model, 0, len(c.entries))
	for _, e := range c.entries {
		all = append(all, &modelv1.Model{
			Name: e.Name, Description: e.Description, ContextWindow: e.ContextWindow, MaxOutputTokens: e.MaxOutputTokens,
			Abilities: &modelv1.ModelAbilities{Tools: e.Has(Tools), Images: e.Has(Images), StructuredOutput: e.Has(StructuredOutput), Reasoning: e.Has(Reasoning)},
			Price:     e.PriceAt(now).message(), Default: e.Default, Own: e.Own,
		})
	}
	return all
}

func (p *Price) message() *modelv1.ModelPrice {
	if p == nil {
		return nil
	}
	m := p.Rates.message()
	m.AsOf, m.Source, m.LongAbove = p.AsOf, p.Source, p.LongAbove
	if p.Long != nil {
		m.Long = p.Long.message()
	}
	return m
}

func (r Rates) message() *modelv1.ModelPrice {
	return &modelv1.ModelPrice{Input: r.Input, CachedInput: or(r.CachedInput, r.Input), CacheWrite: or(r.CacheWrite, r.Input), Output: r.Output}
}
