package model

import (
	"strings"
	"unicode/utf8"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// cleaner makes parts valid UTF-8, which is all that a history can hold. A character
// that was cut between two pieces of the same text becomes whole: its first bytes
// wait for the next piece. Bytes that are no character become U+FFFD.
type cleaner struct {
	give func(Part) bool
	// The first bytes of a character; at most one of them holds some.
	text, thought string
}

// part hands over what p makes whole. It answers false when nobody listens.
func (c *cleaner) part(p Part) bool {
	r := p.Reasoning
	switch {
	case p.Text != "":
		if !c.flush(false, true) {
			return false
		}
		p.Text, c.text = whole(c.text + p.Text)
		return p.Text == "" || c.give(p)
	case r != nil && r.GetText() != "" && len(r.GetPrivate()) == 0:
		if !c.flush(true, false) {
			return false
		}
		var text string
		text, c.thought = whole(c.thought + r.GetText())
		return text == "" || c.give(Part{Reasoning: &messagev1.Reasoning{Text: text}})
	case !c.flush(true, true):
		return false
	case r != nil:
		r.Text = valid(r.GetText())
	case p.ToolCall != nil:
		call := p.ToolCall
		call.Id, call.Name, call.Arguments = valid(call.GetId()), valid(call.GetName()), valid(call.GetArguments())
	case p.Done != nil:
		p.Done.Usage = sane(p.Done.Usage)
		p.Done.ResponseID, p.Done.FinishReason = valid(p.Done.ResponseID), cut(p.Done.FinishReason, LabelLimit)
	}
	return c.give(p)
}

// flush gives the beginnings of characters whose rest cannot come any more.
func (c *cleaner) flush(text, thought bool) bool {
	if text && c.text != "" {
		c.text = ""
		return c.give(Part{Text: "\uFFFD"})
	}
	if thought && c.thought != "" {
		c.thought = ""
		return c.give(Part{Reasoning: &messagev1.Reasoning{Text: "\uFFFD"}})
	}
	return true
}

// whole splits off the first bytes of a character at the end of s, and makes the rest
// valid.
func whole(s string) (text, begun string) {
	for at := len(s) - 1; at >= max(0, len(s)-utf8.UTFMax); at-- {
		if utf8.RuneStart(s[at]) {
			if !utf8.FullRuneInString(s[at:]) {
				s, begun = s[:at], s[at:]
			}
			break
		}
	}
	return valid(s), begun
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// mostTokens is more than any request has.
const mostTokens = 1_000_000_000

// sane bounds what a host says that an answer used: sums must not be spoilt for good by
// one host's slip. nil stays nil.
func sane(u *messagev1.Usage) *messagev1.Usage {
	if u == nil {
		return nil
	}
	in, out := within(u.GetInputTokens(), mostTokens), within(u.GetOutputTokens(), mostTokens)
	cached := within(u.GetCachedInputTokens(), in)
	return &messagev1.Usage{
		InputTokens: in, OutputTokens: out, CachedInputTokens: cached, CacheWriteInputTokens: within(u.GetCacheWriteInputTokens(), in-cached),
		ReasoningTokens: within(u.GetReasoningTokens(), out), Estimated: u.GetEstimated(),
	}
}

func within(n, most int64) int64 { return max(0, min(n, most)) }
