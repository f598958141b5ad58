package gemini

import (
	"bytes"
	"encoding/json"
	"errors"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// answer is one answer on its way.
type answer struct {
	give  func(model.Part) bool
	seal  seal
	calls int
	done  model.Done
	over  bool // a candidate said why it finished
}

// errLeft ends the reading when nobody listens any more.
var errLeft = errors.New("nobody listens")

// take reads one chunk. Behind the end only another end may come, and figures.
func (a *answer) take(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return &model.Error{Category: model.Malformed, Message: "a chunk of the stream cannot be read: " + model.Bounded(err.Error())}
	}
	if c.Usage != nil {
		a.done.Usage = c.Usage.neutral()
	}
	if a.over {
		return c.behind()
	}
	if len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) {
		return model.FromEvent(data)
	}
	if c.ResponseID != "" {
		a.done.ResponseID = c.ResponseID
	}
	if f := c.Feedback; f != nil && f.BlockReason != "" {
		return a.refused(f.BlockReason, f.Message, "the provider blocked the request")
	}
	if len(c.Candidates) == 0 {
		return nil
	}
	first := c.Candidates[0] // one is asked for
	for _, p := range first.Content.Parts {
		if err := a.part(p); err != nil {
			return err
		}
	}
	return a.finish(first)
}

// behind wants no content behind the end.
func (c chunk) behind() error {
	for _, one := range c.Candidates {
		for _, p := range one.Content.Parts {
			if p.Call != nil || p.Text != nil && *p.Text != "" {
				return &model.Error{Category: model.Malformed, Message: "content came behind the end of the answer"}
			}
		}
	}
	return nil
}

// part gives one part. Parts of kinds that were not asked for say nothing.
func (a *answer) part(p part) error {
	switch {
	case p.Call != nil:
		return a.call(p)
	case p.Text == nil && p.Signature == "":
		return nil
	}
	text := ""
	if p.Text != nil {
		text = *p.Text
	}
	given := model.Part{Text: text}
	if p.Thought {
		a.seal.add(sealed{Kind: thoughtKind, Thought: text, Signature: p.Signature})
		given = model.Part{Reasoning: &messagev1.Reasoning{Text: text}}
	} else if text != "" || p.Signature != "" {
		a.seal.add(sealed{Kind: textKind, Bytes: len(text), Signature: p.Signature})
	}
	if text == "" {
		return nil
	}
	return a.say(given)
}

func (a *answer) call(p part) error {
	args := "{}"
	if len(p.Call.Args) > 0 && string(p.Call.Args) != "null" {
		args = string(p.Call.Args)
	}
	a.calls++
	a.seal.add(sealed{Kind: callKind, NoID: p.Call.ID == "", Signature: p.Signature})
	return a.say(model.Part{ToolCall: &messagev1.ToolCall{Id: p.Call.ID, Name: p.Call.Name, Arguments: args}})
}

// say hands a part over.
func (a *answer) say(p model.Part) error {
	if !a.give(p) {
		return errLeft
	}
	return nil
}

// The reasons why an answer is none. Those of refusals end it for what it says, the
// others because the model wrote no call that can be read.
var (
	refusals = map[string]bool{
		"SAFETY": true, "RECITATION": true, "PROHIBITED_CONTENT": true, "BLOCKLIST": true, "SPII": true,
		"IMAGE_SAFETY": true, "IMAGE_PROHIBITED_CONTENT": true, "IMAGE_RECITATION": true,
	}
	broken = map[string]bool{"MALFORMED_FUNCTION_CALL": true, "UNEXPECTED_TOOL_CALL": true, "MISSING_THOUGHT_SIGNATURE": true, "MALFORMED_RESPONSE": true}
)

// finish takes the reason why a candidate finished, which is what ends an answer.
func (a *answer) finish(c candidate) error {
	reason := c.FinishReason
	switch {
	case reason == "" || reason == "FINISH_REASON_UNSPECIFIED":
		return nil
	case refusals[reason]:
		return a.refused(reason, c.FinishMessage, "the provider's filter ended the answer")
	case broken[reason]:
		e := a.refused(reason, c.FinishMessage, "the model wrote a call that cannot be read")
		e.Category = model.Malformed
		return e
	case reason == "MAX_TOKENS":
		reason = "length"
	case reason == "STOP" && a.calls > 0:
		reason = "tool_calls"
	case reason == "STOP":
		reason = "stop"
	}
	a.done.FinishReason = reason
	a.over = true
	return nil
}

func (a *answer) refused(reason, message, otherwise string) *model.Error {
	if message == "" {
		message = otherwise
	}
	return &model.Error{Category: model.Refused, Code: reason, Message: message, Usage: a.done.Usage}
}

// end gives what the whole answer alone can say.
func (a *answer) end() error {
	if private := a.seal.private(); private != nil {
		if err := a.say(model.Part{Reasoning: &messagev1.Reasoning{Private: private}}); err != nil {
			return err
		}
	}
	return a.say(model.Part{Done: &a.done})
}

// neutral is the usage. The API counts thought beside the rest of the answer; here
// the output is all of it.
func (u *usageMetadata) neutral() *messagev1.Usage {
	return &messagev1.Usage{
		InputTokens: u.Prompt + u.ToolPrompt, CachedInputTokens: u.Cached,
		OutputTokens: u.Candidates + u.Thoughts, ReasoningTokens: u.Thoughts,
	}
}
