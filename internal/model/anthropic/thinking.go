package anthropic

import (
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
)

// control is how a model is told to think.
type control int

const (
	byEffort control = iota // it decides by itself, guided by an effort
	byBudget                // a number of tokens
	never                   // it does not think
)

// generations says how models of earlier generations are told to think. The longest
// beginning of an id that matches counts; a model that nobody knows is of the
// newest generation.
var generations = map[string]control{
	"claude-2": never, "claude-instant": never, "claude-3": never,
	"claude-3-7":        byBudget,
	"claude-sonnet-4-0": byBudget, "claude-sonnet-4-2": byBudget, "claude-sonnet-4-5": byBudget,
	"claude-opus-4-0": byBudget, "claude-opus-4-1": byBudget, "claude-opus-4-2": byBudget, "claude-opus-4-5": byBudget,
	"claude-haiku-4-5": byBudget,
}

// controlOf finds a model's generation.
func controlOf(id string) control {
	found, best := byEffort, ""
	for prefix, c := range generations {
		if strings.HasPrefix(id, prefix) && len(prefix) > len(best) {
			found, best = c, prefix
		}
	}
	return found
}

// defaultMaxTokens is asked for when the request names no limit, since the API wants
// one. It is what a turn holds for an answer without limit.
const defaultMaxTokens = 16384

// smallModels are the beginnings of ids whose models give less than that.
var smallModels = map[string]int64{"claude-3-haiku": 4096, "claude-3-opus": 4096, "claude-3-5": 8192, "claude-2": 4096, "claude-instant": 4096}

// maxTokens is the limit of a request that names none.
func maxTokens(id string) int64 {
	for prefix, n := range smallModels {
		if strings.HasPrefix(id, prefix) {
			return n
		}
	}
	return defaultMaxTokens
}

// smallestBudget is the least that the API takes.
const smallestBudget = 1024

// budget is the part of an answer's tokens that goes into thought; 0 is no thought.
func budget(effort string, most int64) int64 {
	share := map[string]int64{"minimal": 8, "low": 8, "medium": 4, "high": 2}[effort]
	n := int64(0)
	switch {
	case share > 0:
		n = max(most/share, smallestBudget)
	case effort == "max":
		n = most / 4 * 3
	}
	if n < smallestBudget || n >= most {
		return 0
	}
	return n
}

// think sets how the model thinks. Without an effort that is left to the provider.
// The API wants thought at the beginning of an answer whose calls are open, where a
// budget is set; an answer of another provider has none, so that none is asked for.
func think(p *sdk.MessageNewParams, id, effort string, openWithout bool) {
	if effort == "" {
		return
	}
	switch controlOf(id) {
	case byBudget:
		if n := budget(effort, p.MaxTokens); n > 0 && !openWithout {
			p.Thinking = sdk.ThinkingConfigParamOfEnabled(n)
		}
	case byEffort:
		p.OutputConfig.Effort = words[effort]
		if effort != "none" {
			p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
		}
	}
}

// words are the API's names of efforts. Few of these models can be told not to think
// at all; the lowest effort is the nearest that all take.
var words = map[string]sdk.OutputConfigEffort{
	"none": sdk.OutputConfigEffortLow, "minimal": sdk.OutputConfigEffortLow, "low": sdk.OutputConfigEffortLow,
	"medium": sdk.OutputConfigEffortMedium, "high": sdk.OutputConfigEffortHigh, "max": sdk.OutputConfigEffortMax,
}
