package turn_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/turn"
)

// offers notes which requests were offered the tool goal_complete.
func (w *world) offers(play func(context.Context, model.Request) parts) func(context.Context, model.Request) parts {
	return func(ctx context.Context, req model.Request) parts {
		offered := slices.ContainsFunc(req.Tools, func(s model.ToolSpec) bool { return s.Name == "goal_complete" })
		w.note("offered %t", offered)
		return play(ctx, req)
	}
}

func (w *world) offered() []string {
	return slices.DeleteFunc(slices.Clone(w.steps), func(s string) bool { return !strings.HasPrefix(s, "offered") })
}

// T46: a blank answer after a completed goal is asked for again, once.
func TestAGoalIsCompletedAndTheAnswerIsOwedAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = w.offers(replies(
		[]model.Part{call("c1", "goal_complete", `{"evidence":"the tests pass"}`), end(1, 1)},
		[]model.Part{text(" \n"), end(1, 1)},
		[]model.Part{text("All tests pass now."), end(1, 1)},
	))
	w.accept("go on")
	w.setGoal("all tests pass")
	if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if g := w.readGoal(); g.Status != store.GoalCompleted || g.Evidence != "the tests pass" || w.count("goal.completed") != 1 {
		t.Errorf("the goal is %+v", g)
	}
	c := w.last("turn.completed").GetTurnCompleted()
	if c.GetSegmentLimit() != "" || c.GetModelCalls() != 3 || w.last("agent.message.completed").GetAgentMessageCompleted().GetText() != "All tests pass now." {
		t.Errorf("the turn ended as %v", c)
	}
	if got, want := w.offered(), []string{"offered true", "offered false", "offered false"}; !slices.Equal(got, want) {
		t.Errorf("the tool was %v, want %v", got, want)
	}
}

// Without an active goal there is nothing to complete.
func TestGoalCompleteIsOfferedWhileAGoalIsActive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = w.offers(replies([]model.Part{call("c1", "goal_complete", `{"evidence":"x"}`), end(1, 1)}, []model.Part{text("done"), end(1, 1)}))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.last("agent.tool.failed").GetAgentToolFailed().GetResult(); !strings.Contains(got, "no tool named goal_complete") {
		t.Errorf("the call was answered %q", got)
	}
	if got := w.offered(); slices.Contains(got, "offered true") {
		t.Errorf("the tool was %v", got)
	}
}

// A goal that was changed meanwhile is not the one that the turn worked towards.
func TestAGoalThatWasChangedIsNotCompleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	play := replies([]model.Part{call("c1", "goal_complete", `{"evidence":"x"}`), end(1, 1)}, []model.Part{text("done"), end(1, 1)})
	w.play = func(ctx context.Context, req model.Request) parts {
		if w.readGoal().Version == 1 {
			w.setGoal("something else")
		}
		return play(ctx, req)
	}
	w.accept("go on")
	w.setGoal("the first")
	if err := turn.Run(t.Context(), w, w.claim(""), turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := w.last("agent.tool.failed").GetAgentToolFailed().GetResult(); !strings.Contains(got, "not active any more") || w.readGoal().Status != store.GoalActive {
		t.Errorf("the call was answered %q, and the goal is %+v", got, w.readGoal())
	}
}

func TestInstructionsTellOfTheGoal(t *testing.T) {
	t.Parallel()
	got := turn.WithGoal("Be kind.\n", " all tests pass ")
	if !strings.HasPrefix(got, "Be kind.\n\n") || !strings.Contains(got, "\n\nall tests pass\n\n") || !strings.Contains(got, "goal_complete") {
		t.Errorf("the instructions are %q", got)
	}
}
