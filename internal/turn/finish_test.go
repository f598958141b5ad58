package turn_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// An answer that ends for a reason that nobody knows does not pass for a whole one.
func TestAnUnknownFinishReasonIsALimit(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"stop": "", "": "", "length": "max_output_tokens", "pause_turn": "finish_reason_pause_turn", "COSMIC RAYS": "finish_reason_cosmic_rays",
		strings.Repeat("x", 300): "finish_reason_" + strings.Repeat("x", 60),
	} {
		w := newWorld(t)
		w.play = replies([]model.Part{text("half"), {Done: &model.Done{FinishReason: reason}}})
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.last("turn.completed").GetTurnCompleted().GetSegmentLimit(); got != want {
			t.Errorf("the finish reason %.20q gives the limit %q, want %q", reason, got, want)
		}
	}
}

// A request that never left costs nothing, whatever kept it.
func TestARequestThatAFileKeptCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = func(context.Context, model.Request) parts {
		return failing(errors.New("the recording cannot be written"))
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u := w.status().GetUsage(); u.GetInputTokens() != 0 || u.GetOutputTokens() != 0 || u.GetCostNanoUsd() != 0 || u.GetEstimated() {
		t.Errorf("it is booked as %v", u)
	}
}

// An answer without an end fills no disk.
func TestAnEndlessAnswerFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = func(context.Context, model.Request) parts {
		return func(yield func(model.Part, error) bool) {
			for piece := strings.Repeat("x", 1<<20); yield(text(piece), nil); {
				continue
			}
		}
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.status().GetError(); got.GetCode() != "provider_response_malformed" || !strings.Contains(got.GetDetail(), "longer than") {
		t.Errorf("the error is %v", got)
	}
}

// What a provider tells of a refused request is booked, and not what was held for it.
func TestARefusalIsBookedAtWhatItUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = func(_ context.Context, req model.Request) parts {
		return func(yield func(model.Part, error) bool) {
			req.Sent()
			if yield(text("half"), nil) {
				yield(model.Part{}, &model.Error{Category: model.Refused, Usage: &messagev1.Usage{InputTokens: 100, OutputTokens: 20}})
			}
		}
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u := w.status().GetUsage(); u.GetInputTokens() != 100 || u.GetOutputTokens() != 20 || u.GetCostNanoUsd() != 200 || u.GetEstimated() {
		t.Errorf("it is booked as %v", u)
	}
}
