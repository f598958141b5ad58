package cli

import (
	"fmt"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// beside shows what happened beside the turn.
func (p *printer) beside(e *eventv1.Event) {
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_UsageThreshold:
		p.line("… %s", thresholdNote(v.UsageThreshold))
	case *eventv1.Event_ContextCompacted:
		p.line("… the conversation was shortened for the model, from about %d to %d tokens (%s)", v.ContextCompacted.GetBeforeTokens(), v.ContextCompacted.GetAfterTokens(), v.ContextCompacted.GetReason())
	case *eventv1.Event_GoalCompleted:
		p.line("… the goal is completed: %s", oneLine(v.GoalCompleted.GetEvidence(), 200))
	case *eventv1.Event_GoalPaused:
		p.line("… the goal is paused: %s", v.GoalPaused.GetReason())
	}
}

// thresholdNote tells how much of a budget is used.
func thresholdNote(v *eventv1.UsageThreshold) string {
	used, bound := fmt.Sprint(v.GetUsed()), fmt.Sprintf("%d tokens", v.GetBound())
	if v.GetUnit() == "nano_usd" {
		used, bound = dollars(v.GetUsed()), dollars(v.GetBound())
	}
	of := v.GetScope() + " " + v.GetSubjectId()
	if v.GetPeriod() != "" {
		of += " per " + v.GetPeriod()
	}
	return fmt.Sprintf("%d %% of the budget of %s is used: %s of %s", v.GetPercent(), of, used, bound)
}
