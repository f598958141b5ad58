package turn

import (
	"context"
	"strings"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Limits that hold when the agent names none.
const (
	defaultModelCalls  = 200
	defaultTurnSeconds = 86400
)

// govern opens what the frozen policy names: the model and the tools. The
// policy itself was fixed by the first claim.
func (t *turn) govern(ctx context.Context) (step, error) {
	p := t.claim.Policy
	if t.claim.Cancelled {
		return nil, ErrCancelled
	}
	m, err := t.fx.OpenModel(ctx, p)
	if err != nil {
		return nil, err
	}
	t.model = m
	if err := t.samePolicy(ctx); err != nil {
		return nil, err
	}
	t.tools = map[string]tool.Tool{}
	t.offerGoal()
	for _, name := range p.GetTools() {
		found, ok := t.fx.Tool(name)
		if !ok {
			return nil, fault.New(fault.FailedPrecondition, "UNKNOWN_TOOL", "the agent lists the tool %q, which this server does not have", name)
		}
		spec := found.Spec()
		t.tools[name] = found
		t.specs = append(t.specs, model.ToolSpec{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	t.ready = true
	return t.decide, nil
}

// admit is asked before every model request.
func (t *turn) admit(context.Context) error {
	limits := t.claim.Policy.GetLimits()
	calls := limits.GetMaxModelCalls()
	if calls == 0 {
		calls = defaultModelCalls
	}
	if t.calls >= calls {
		return &limitReached{"max_model_calls"}
	}
	seconds := limits.GetMaxTurnSeconds()
	if seconds == 0 {
		seconds = defaultTurnSeconds
	}
	if t.fx.Now().Sub(t.claim.StartedAt).Seconds() >= float64(seconds) {
		return &limitReached{"max_turn_seconds"}
	}
	return nil
}

// limitReached ends a turn early without a failure.
type limitReached struct{ name string }

func (l *limitReached) Error() string { return "the turn reached its limit " + l.name }

// Instructions composes what the model is told first. The text depends on
// nothing that changes between requests, so that prompt caches hold.
//
// In a sandbox the files of messages are put into the folder.
func Instructions(agent, folder string, sandbox bool) string {
	if folder == "" {
		return agent
	}
	files := ""
	if sandbox {
		files = " Files that come with a message lie below " + attachedFolder + "/, each in a folder of its own."
	}
	return strings.TrimRight(agent, "\n") + "\n\nYour workspace is the folder " + folder +
		". Give tools paths relative to it. You cannot reach anything outside of it." + files
}
