package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/respjson"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// counts are the tokens that the events told; the later figure is the whole one.
type counts struct {
	told                                    bool
	input, created, cached, output, thought int64
}

func (c *counts) start(u sdk.Usage) {
	c.set(&c.input, u.JSON.InputTokens, u.InputTokens)
	c.set(&c.created, u.JSON.CacheCreationInputTokens, u.CacheCreationInputTokens)
	c.set(&c.cached, u.JSON.CacheReadInputTokens, u.CacheReadInputTokens)
	c.set(&c.output, u.JSON.OutputTokens, u.OutputTokens)
}

func (c *counts) delta(u sdk.MessageDeltaUsage) {
	c.set(&c.input, u.JSON.InputTokens, u.InputTokens)
	c.set(&c.created, u.JSON.CacheCreationInputTokens, u.CacheCreationInputTokens)
	c.set(&c.cached, u.JSON.CacheReadInputTokens, u.CacheReadInputTokens)
	c.set(&c.output, u.JSON.OutputTokens, u.OutputTokens)
	c.set(&c.thought, u.OutputTokensDetails.JSON.ThinkingTokens, u.OutputTokensDetails.ThinkingTokens)
}

func (c *counts) set(to *int64, field respjson.Field, n int64) {
	if field.Valid() {
		*to, c.told = n, true
	}
}

// neutral is the usage; nil when nothing was told. The API counts cached tokens, and
// those that fill its cache, beside the others; here the input is all of them.
func (c *counts) neutral() *messagev1.Usage {
	if !c.told {
		return nil
	}
	return &messagev1.Usage{
		InputTokens: c.input + c.created + c.cached, OutputTokens: c.output,
		CachedInputTokens: c.cached, CacheWriteInputTokens: c.created, ReasoningTokens: c.thought,
	}
}
