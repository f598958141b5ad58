package scripted

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// compacted is the finish reason of what stands for a history in the script's own form. It is
// no answer of a step.
const compacted = "compacted"

// fits refuses a request that is longer than the script's window, as providers do.
func (s *script) fits(req model.Request) error {
	if n := tokens(asked(req)); s.window > 0 && n > s.window {
		return &model.Error{
			Category: model.ContextTooLong, Status: 400, Code: "context_length_exceeded",
			Message: fmt.Sprintf("the request has %d tokens, and the script's window is %d", n, s.window),
		}
	}
	return nil
}

// compact answers a request for a shorter history with a summary in words.
func (a *answer) compact(s *script, req model.Request) {
	c := s.compaction
	if c == nil {
		c = &compaction{}
	}
	played := c.step
	if played.text == "" {
		played.text = fmt.Sprintf("Summary: %d items.", len(req.History))
	}
	a.fails = s.compactionFails(a.at, c.fail, req.RequestID)
	a.play(&played, req)
}

// compactionFails tells whether the error of a compaction is due. Its requests are counted like
// those of the step that comes next, after the failures of that step.
func (s *script) compactionFails(p position, f *failure, requestID string) bool {
	if f == nil || f.times == 0 {
		return f != nil
	}
	t, _, err := s.at(p)
	_, number, _ := strings.Cut(requestID, "/")
	n, bad := strconv.Atoi(number)
	if err != nil || bad != nil {
		return true
	}
	return n-1-p.step-t.failed(p.step+1) < f.times
}

// compactor plays a script whose provider makes histories shorter in a form of its own.
type compactor struct{ player }

// Compaction is what the script says that requests must declare.
func (m compactor) Compaction() (feature, implementation string) {
	r := m.script.compaction.remote
	return r.feature, r.implementation
}

// Compact gives the script's text, sealed. A request that does not declare what it must is
// refused.
func (m compactor) Compact(ctx context.Context, req model.CompactRequest) (model.Compacted, error) {
	r, at := m.script.compaction.remote, locate(req.History)
	if req.Feature != r.feature || req.Implementation != r.implementation {
		return model.Compacted{}, m.script.refuse(at, "the request declares %q and %q, and %q and %q were expected", req.Feature, req.Implementation, r.feature, r.implementation)
	}
	out := model.Compacted{}
	var text strings.Builder
	for part, err := range m.Ask(ctx, req.Request) {
		if err != nil {
			return out, err
		}
		text.WriteString(part.Text)
		if part.Done != nil {
			out.Usage, out.ResponseID = part.Done.Usage, part.Done.ResponseID
		}
	}
	out.Items = []*messagev1.Item{{Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{
		Provider: "scripted", FinishReason: compacted, Parts: []*messagev1.AssistantPart{{Part: &messagev1.AssistantPart_Reasoning{
			Reasoning: &messagev1.Reasoning{Private: []byte(text.String())},
		}}},
	}}}}
	return out, nil
}

// Recoverable is what the script says of an error that it made.
func (m compactor) Recoverable(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && m.script.compaction.recoverable
}
