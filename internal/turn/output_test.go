package turn_test

import (
	"strings"
	"testing"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/turn"
)

const personSchema = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`

func TestAnAnswerThatKeepsToTheSchemaEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.schema = personSchema
	var asked []model.Request
	w.play = noting(&asked, replies([]model.Part{text(`{"name":`), text(`"Ada"}`), end(1, 1)}))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 1 || string(asked[0].Schema) != personSchema {
		t.Errorf("the model was asked %d times, with the schema %s", len(asked), asked[0].Schema)
	}
	if got := w.last("turn.completed").GetTurnCompleted(); got.GetSegmentLimit() != "" {
		t.Errorf("the turn completed with %v", got)
	}
}

func TestAnAnswerThatDoesNotKeepToTheSchemaIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.schema = personSchema
	var asked []model.Request
	w.play = noting(&asked, replies([]model.Part{text("Her name is Ada."), end(1, 1)}, []model.Part{text(`{"nme":"Ada"}`), end(1, 1)}, []model.Part{text(`{"name":"Ada"}`), end(1, 1)}))
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 3 {
		t.Fatalf("the model was asked %d times, want 3", len(asked))
	}
	for i, says := range map[int]string{1: "no valid JSON", 2: "nme"} {
		last := asked[i].History[len(asked[i].History)-1].GetDeveloper().GetText()
		if !strings.Contains(last, says) {
			t.Errorf("before request %d the model is told %q, want %q", i+1, last, says)
		}
	}
	if w.status().GetPhase() != agentexecutionv1.ExecutionPhase_completed {
		t.Errorf("the turn is %v", w.status())
	}
}

func TestAnAnswerThatNeverKeepsToTheSchemaFailsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.schema = personSchema
	w.play = replies([]model.Part{text("no"), end(1, 1)})
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := w.status().GetError(); e.GetCode() != "output_schema_mismatch" || w.status().GetModelCalls() != 3 {
		t.Errorf("after %d calls the error is %v", w.status().GetModelCalls(), e)
	}
}

// How often the model was asked again is in the history, so that a new attempt does
// not begin to count anew; and it is no hand-off of a blank reply.
func TestANewAttemptCountsTheAnswersThatDidNotFit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.schema = personSchema
	n := 0
	w.play = func(ctx ctxType, req model.Request) parts {
		if n++; n == 3 {
			return failing(engine.ErrStopping)
		}
		return replies([]model.Part{text("no"), end(1, 1)})(ctx, req)
	}
	w.accept("go on")
	first := w.claim("")
	stopped(t, w, first)
	again := w.claim("")
	if again.HandedOff {
		t.Error("a note about the schema counts as the hand-off of the final reply")
	}
	if err := turn.Run(t.Context(), w, again, turn.Options{}); err != nil {
		t.Fatal(err)
	}
	if e := w.status().GetError(); e.GetCode() != "output_schema_mismatch" || n != 4 {
		t.Errorf("after %d requests the error is %v", n, e)
	}
}
