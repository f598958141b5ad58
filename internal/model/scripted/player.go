package scripted

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// player is one opened script.
type player struct{ script *script }

// Ask plays the step that the history has come to.
func (m player) Ask(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if ctx.Err() != nil {
			yield(model.Part{}, context.Cause(ctx))
			return
		}
		if req.Sent != nil {
			req.Sent()
		}
		a := answer{ctx: ctx, yield: yield, at: locate(req.History), more: true}
		if err := m.script.fits(req); err != nil {
			a.end(err)
			return
		}
		if req.Compaction {
			a.compact(m.script, req)
			return
		}
		t, s, err := m.script.at(a.at)
		if err == nil {
			err = m.script.check(s.expect, a.at, req)
		}
		if err != nil {
			a.end(err)
			return
		}
		a.fails = t.fails(a.at, s.fail, req.RequestID)
		a.play(s, req)
	}
}

// answer is one answer on its way.
type answer struct {
	ctx   context.Context
	yield func(model.Part, error) bool
	at    position
	fails bool
	more  bool // the caller listens and nothing has ended the answer
	bytes int  // that were given so far
}

// play gives the parts of a step in order.
func (a *answer) play(s *step, req model.Request) {
	a.wait(s.delay)
	if a.fails && s.fail.afterChunks == 0 {
		a.fail(s)
	}
	if s.reasoning != "" {
		a.give(model.Part{Reasoning: &messagev1.Reasoning{Text: a.fill(s.reasoning, false)}}, len(s.reasoning))
	}
	a.text(s)
	if a.fails {
		a.fail(s)
	}
	for i, c := range s.tools {
		call := &messagev1.ToolCall{Id: c.id, Name: c.name, Arguments: a.fill(c.args, true)}
		if call.Id == "" {
			call.Id = fmt.Sprintf("call_%d_%d_%d", a.at.turn, a.at.step+1, i+1)
		}
		a.give(model.Part{ToolCall: call}, len(call.Name)+len(call.Arguments))
	}
	if a.more && s.hang {
		<-a.ctx.Done()
		a.end(context.Cause(a.ctx))
	}
	a.give(model.Part{Done: a.done(s, req)}, 0)
}

// give yields a part unless the answer has ended.
func (a *answer) give(p model.Part, size int) {
	if !a.more {
		return
	}
	if a.ctx.Err() != nil {
		a.end(context.Cause(a.ctx))
		return
	}
	a.bytes += size
	a.more = a.yield(p, nil)
}

// end yields the error that ends the answer.
func (a *answer) end(err error) {
	if a.more {
		a.more = false
		a.yield(model.Part{}, err)
	}
}

func (a *answer) fail(s *step) {
	err := s.fail.err
	a.end(&err)
}

// wait passes time, unless the context ends it.
func (a *answer) wait(d time.Duration) {
	if !a.more || d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.ctx.Done():
		a.end(context.Cause(a.ctx))
	}
}

// text gives the text in chunks, up to the one after which a failure is due.
func (a *answer) text(s *step) {
	chunks := split(a.fill(s.text, false), s.chunk)
	if a.fails {
		chunks = chunks[:min(len(chunks), s.fail.afterChunks)]
	}
	for i, c := range chunks {
		if i > 0 {
			a.wait(s.chunkDelay)
		}
		a.give(model.Part{Text: c}, len(c))
	}
}

// split cuts a text into pieces of n characters; n = 0 leaves it whole.
func split(text string, n int) []string {
	if text == "" {
		return nil
	}
	if n == 0 {
		return []string{text}
	}
	var all []string
	start, count := 0, 0
	for i := range text {
		if count == n {
			all, start, count = append(all, text[start:i]), i, 0
		}
		count++
	}
	return append(all, text[start:])
}

// fill puts the user's message and the newest tool result in their places; for
// JSON they are escaped as the inside of a string.
func (a *answer) fill(text string, forJSON bool) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	values := []string{a.at.user, a.at.lastTool.GetText()}
	if forJSON {
		for i, v := range values {
			var b bytes.Buffer
			writeString(&b, v)
			values[i] = b.String()[1 : b.Len()-1]
		}
	}
	return strings.NewReplacer("{{user}}", values[0], "{{last_tool}}", values[1]).Replace(text)
}

// done ends an answer.
func (a *answer) done(s *step, req model.Request) *model.Done {
	d := &model.Done{
		FinishReason: s.finish, ResponseID: fmt.Sprintf("resp_%d_%d", a.at.turn, a.at.step+1),
		Usage: a.usage(s, req),
	}
	switch {
	case s.finish != "":
	case len(s.tools) > 0:
		d.FinishReason = "tool_calls"
	default:
		d.FinishReason = "stop"
	}
	return d
}

// usage is what the script says, else a count of four bytes per token.
func (a *answer) usage(s *step, req model.Request) *messagev1.Usage {
	if u := s.usage; u != nil && u.none {
		return nil
	} else if u != nil {
		return &messagev1.Usage{InputTokens: u.input, OutputTokens: u.output, CachedInputTokens: u.cached, ReasoningTokens: u.reasoning}
	}
	return &messagev1.Usage{
		InputTokens: tokens(asked(req)), OutputTokens: tokens(a.bytes), ReasoningTokens: tokens(len(s.reasoning)),
	}
}

func tokens(bytes int) int64 { return int64(bytes+3) / 4 }

// asked counts the bytes of a request's texts.
func asked(req model.Request) int {
	n := len(req.Instructions)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, item := range req.History {
		n += len(item.GetUser().GetText()) + len(item.GetDeveloper().GetText()) + len(item.GetToolResult().GetText())
		for _, p := range item.GetAssistant().GetParts() {
			n += len(p.GetText()) + len(p.GetReasoning().GetText()) + len(p.GetToolCall().GetName()) + len(p.GetToolCall().GetArguments())
		}
	}
	return n
}
