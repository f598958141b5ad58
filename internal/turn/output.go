package turn

import (
	"context"
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/schema"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// misfit begins what the model is told when its answer does not keep to the schema.
const misfit = "Your answer does not keep to the schema that was asked for: "

// mostMisfits is how often a model is asked again for an answer that fits.
const mostMisfits = 2

// checkOutput looks whether the final answer keeps to the schema of the turn. One
// that does not is asked for again, with the reason; what fits, or needs no schema,
// answers nil twice.
func (t *turn) checkOutput(ctx context.Context, reply string) (step, error) {
	text := t.claim.Policy.GetOutputSchema()
	if text == "" {
		return nil, nil
	}
	s, err := schema.Parse(text)
	if err != nil {
		return nil, err
	}
	wrong := s.Check(reply)
	if wrong == nil {
		return nil, nil
	}
	if t.misfits() >= mostMisfits {
		return nil, fault.New(fault.FailedPrecondition, "OUTPUT_SCHEMA_MISMATCH",
			"the model's answer does not keep to the schema, also after it was asked again %d times: %s", mostMisfits, failure.Bounded(wrong.Error()))
	}
	item := &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{
		Text: misfit + failure.Bounded(wrong.Error()) + ". Answer again with the JSON alone: no other words, no code fence.",
	}}}
	if err := t.fx.Ledger().AddItem(ctx, t.claim.Fence, item, false); err != nil {
		return nil, err
	}
	t.history = append(t.history, item)
	return t.fit, nil
}

// misfits counts in the history how often the model was asked again, since the
// newest input.
func (t *turn) misfits() int {
	n := 0
	for _, item := range t.history {
		switch {
		case item.GetUser() != nil:
			n = 0
		case strings.HasPrefix(item.GetDeveloper().GetText(), misfit):
			n++
		}
	}
	return n
}
