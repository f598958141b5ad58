package anthropic

import "testing"

// The API counts what it read from its cache, and what it wrote there, beside the
// other tokens of the input.
func TestTheInputIsAllOfItsParts(t *testing.T) {
	t.Parallel()
	u := (&counts{told: true, input: 3, created: 5, cached: 4, output: 7, thought: 2}).neutral()
	if u.GetInputTokens() != 12 || u.GetCachedInputTokens() != 4 || u.GetCacheWriteInputTokens() != 5 || u.GetOutputTokens() != 7 || u.GetReasoningTokens() != 2 {
		t.Errorf("the usage is %v", u)
	}
}
