package event_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/event"
)

func TestTypesAreTheNamesOfTheContract(t *testing.T) {
	t.Parallel()
	types := event.Types()
	for _, want := range []string{
		"session.status.changed", "input.queued", "input.delivered", "input.removed", "turn.queued", "turn.started", "turn.recovery.requested",
		"turn.waiting", "turn.completed", "turn.failed", "turn.cancelled", "turn.reopened", "agent.message.delta", "agent.message.completed",
		"agent.reasoning.delta", "agent.tool.requested", "agent.tool.started", "agent.tool.progress", "agent.tool.completed", "agent.tool.failed",
		"agent.tool.outcome_unknown", "agent.model.request", "agent.model.usage", "artifact.created",
	} {
		if !slices.Contains(types, want) {
			t.Errorf("%s is no type: %v", want, types)
		}
	}
	form := regexp.MustCompile(`^[a-z]+(\.[a-z_]+)+$`)
	for _, typ := range types {
		if !form.MatchString(typ) {
			t.Errorf("%q has not the form of a type", typ)
		}
	}
}

func TestNewNamesTheEventByItsPayload(t *testing.T) {
	t.Parallel()
	at := time.Unix(7, 0)
	e := event.New(at, &eventv1.AgentToolOutcomeUnknown{CallId: "c"})
	if e.GetType() != "agent.tool.outcome_unknown" || e.GetAgentToolOutcomeUnknown().GetCallId() != "c" || !e.GetOccurredAt().AsTime().Equal(at) {
		t.Fatalf("got %v", e)
	}
	defer func() {
		if recover() == nil {
			t.Fatal("a message that is no payload was taken")
		}
	}()
	event.New(at, &eventv1.Event{})
}
