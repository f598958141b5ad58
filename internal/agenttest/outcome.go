package agenttest

import (
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// Outcome is what came of a turn.
type Outcome struct {
	Phase        string // completed, failed, waiting or cancelled; "" when it has not ended
	SegmentLimit string
	Error        string // the failure's code
	Message      string // the failure's words, for people
	Answer       string // the text of the model's last answer
	Tools        []Done // in the order in which the model asked for them
	ModelCalls   int
}

// Done is a tool call and what came of it.
type Done struct {
	ID        string
	Name      string
	Arguments string
	Result    string
	State     string
}

// Fold makes the outcome of one turn out of its events, in their order.
func Fold(events []*eventv1.Event) Outcome {
	var o Outcome
	for _, e := range events {
		if e.GetAssociation() != eventv1.Association_current {
			continue
		}
		switch p := e.GetPayload().(type) {
		case *eventv1.Event_AgentModelRequest:
			o.ModelCalls++
		case *eventv1.Event_AgentMessageCompleted:
			o.Answer = p.AgentMessageCompleted.GetText()
		case *eventv1.Event_AgentToolRequested:
			r := p.AgentToolRequested
			o.Tools = append(o.Tools, Done{ID: r.GetCallId(), Name: r.GetName(), Arguments: r.GetArguments(), State: "requested"})
		case *eventv1.Event_AgentToolCompleted:
			o.came(p.AgentToolCompleted.GetCallId(), "completed", p.AgentToolCompleted.GetResult())
		case *eventv1.Event_AgentToolFailed:
			o.came(p.AgentToolFailed.GetCallId(), "failed", p.AgentToolFailed.GetResult())
		case *eventv1.Event_AgentToolOutcomeUnknown:
			o.came(p.AgentToolOutcomeUnknown.GetCallId(), "outcome_unknown", p.AgentToolOutcomeUnknown.GetMessage())
		case *eventv1.Event_TurnCompleted:
			o.Phase, o.SegmentLimit = "completed", p.TurnCompleted.GetSegmentLimit()
		case *eventv1.Event_TurnFailed:
			f := p.TurnFailed.GetError()
			o.Phase, o.Error, o.Message = "failed", f.GetCode(), f.GetMessage()
			if f.GetDetail() != "" {
				o.Message += ": " + f.GetDetail()
			}
		case *eventv1.Event_TurnWaiting:
			o.Phase = "waiting"
		case *eventv1.Event_TurnCancelled:
			o.Phase = "cancelled"
		}
	}
	return o
}

// came books what came of a call.
func (o *Outcome) came(id, state, result string) {
	for i := range o.Tools {
		if o.Tools[i].ID == id {
			o.Tools[i].State, o.Tools[i].Result = state, result
		}
	}
}
