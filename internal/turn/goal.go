package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// goalComplete is the tool by which a model says that the session's goal is met.
const goalComplete = "goal_complete"

// WithGoal adds to instructions what the session works towards.
func WithGoal(instructions, goal string) string {
	return strings.TrimRight(instructions, "\n") + "\n\nThis session has a goal:\n\n" + strings.TrimSpace(goal) +
		"\n\nWork towards it in each turn. Once it is met, call " + goalComplete + " with what shows it. That tells the person nothing: answer as well."
}

// offerGoal gives the turn the tool goal_complete. The model is offered it while the goal
// that its instructions tell of is active; a call that was made before can still be ended.
func (t *turn) offerGoal() {
	version := t.claim.Policy.GetGoalVersion()
	if version == 0 {
		return
	}
	own := goalTool{t, version}
	t.tools[goalComplete] = own
	if g := t.claim.Goal; g.Status == store.GoalActive && g.Version == version {
		spec := own.Spec()
		t.specs = append(t.specs, model.ToolSpec{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
}

// offered are the tools that the model may call now.
func (t *turn) offered() []model.ToolSpec {
	if !t.reached {
		return t.specs
	}
	return slices.DeleteFunc(slices.Clone(t.specs), func(s model.ToolSpec) bool { return s.Name == goalComplete })
}

// goalTool completes a goal of one version. A repeated call has the effect of one.
type goalTool struct {
	t       *turn
	version int64
}

var goalSchema = json.RawMessage(`{"type":"object","properties":{"evidence":{"type":"string","maxLength":8192,"description":"What shows that the goal is met."}},"required":["evidence"],"additionalProperties":false}`)

// Spec describes the tool.
func (goalTool) Spec() tool.Spec {
	return tool.Spec{
		Name: goalComplete, Class: tool.Idempotent, Schema: goalSchema, NoFiles: true,
		Description: "Say that the goal of this session is met, and what shows it. Call it once, when nothing is left to do. It sends nobody a message.",
	}
}

// Run completes the goal.
func (g goalTool) Run(ctx context.Context, _ tool.Env, call tool.Call) (tool.Result, error) {
	var args struct {
		Evidence string `json:"evidence"`
	}
	if r := tool.Decode(call, &args); r != nil {
		return *r, nil
	}
	if strings.TrimSpace(args.Evidence) == "" || len(args.Evidence) > 8192 {
		return tool.Fail("`evidence` must say in 1 to 8192 bytes what shows that the goal is met."), nil
	}
	done, err := g.t.fx.Ledger().CompleteGoal(ctx, g.t.claim.Fence, g.version, args.Evidence, g.t.fx.Now())
	if err != nil {
		return tool.Result{}, err
	}
	if !done {
		return tool.Fail("The goal that this turn was told of is not active any more: it was changed, paused or completed meanwhile. Go on with what the person asked for."), nil
	}
	g.t.reached = true
	return tool.Result{Text: "The goal is completed. Now tell the person what came of it.", Summary: "completed"}, nil
}
