package chat

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// mostProgress bounds what is kept of a running command's output, in bytes.
const mostProgress = 4096

// fold takes the log's next event in. One that is in already changes nothing, and
// neither does evidence of an attempt that no longer owned its turn.
func (t *talk) fold(e *eventv1.Event) {
	if e.GetSeq() <= t.seq {
		return
	}
	t.seq = e.GetSeq()
	if e.GetAssociation() != eventv1.Association_current {
		return
	}
	if v := e.GetSessionCreated(); v != nil {
		t.agent, t.folder = v.GetAgent(), v.GetWorkspace()
	}
	if e.GetExecutionId() == "" {
		return
	}
	x := t.turn(e.GetExecutionId())
	x.attempt(e.GetGeneration())
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_InputQueued:
		x.said.text, x.said.files = v.InputQueued.GetText(), attached(v.InputQueued.GetAttachments())
		x.said.rev++
	case *eventv1.Event_InputRemoved:
		x.phase = removed
		x.said.rev++
	case *eventv1.Event_TurnStarted:
		t.model = v.TurnStarted.GetModel()
		x.begin(e.GetOccurredAt().AsTime())
	default:
		if !x.speak(e) && !x.work(e) {
			x.move(e)
		}
	}
}

// attached are the names of files.
func attached(files []*messagev1.Attachment) string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = "[" + f.GetName() + "]"
	}
	return strings.Join(names, " ")
}

// preview takes a piece of text in that is not durable yet.
func (t *talk) preview(d *eventv1.EphemeralDelta) {
	x := t.turns[d.GetExecutionId()]
	if x == nil || d.GetGeneration() < x.generation || !x.open() {
		return
	}
	x.attempt(d.GetGeneration())
	if d.GetReasoning() {
		x.thinking = true
		return
	}
	a := x.answer(d.GetCall())
	if a.show(d.GetOffset(), d.GetText()) {
		x.thinking = false
		a.rev++
	}
}

// attempt voids what an earlier attempt showed and never made durable.
func (x *turn) attempt(generation int64) {
	if generation <= x.generation {
		return
	}
	x.generation, x.thinking = generation, false
	for _, a := range x.answers {
		if a.void() {
			a.rev++
		}
	}
}

func (x *turn) begin(at time.Time) {
	x.phase = running
	x.said.rev++
	if x.started.IsZero() {
		x.started = at
	}
}

// answer is the entry of a model request's text, made when it is not known yet.
func (x *turn) answer(call int32) *entry {
	if a := x.answers[call]; a != nil {
		return a
	}
	a := &entry{kind: answerEntry}
	x.answers[call] = a
	x.entries = append(x.entries, a)
	return a
}

func (x *turn) note(k kind, format string, args ...any) {
	x.entries = append(x.entries, &entry{kind: k, text: fmt.Sprintf(format, args...)})
}

// speak takes in what the model says, and what its requests used.
func (x *turn) speak(e *eventv1.Event) bool {
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_AgentMessageDelta:
		a := x.answer(v.AgentMessageDelta.GetCall())
		a.keep(v.AgentMessageDelta.GetOffset(), v.AgentMessageDelta.GetText())
		a.rev++
		x.thinking = false
	case *eventv1.Event_AgentMessageCompleted:
		if text := v.AgentMessageCompleted.GetText(); text != "" || x.answers[v.AgentMessageCompleted.GetCall()] != nil {
			a := x.answer(v.AgentMessageCompleted.GetCall())
			a.end(text)
			a.rev++
		}
		x.thinking = false
	case *eventv1.Event_AgentReasoningDelta:
		x.thinking = true
	case *eventv1.Event_AgentModelUsage:
		if !x.settled {
			addUsage(x.spent, v.AgentModelUsage.GetUsage())
		}
	default:
		return false
	}
	return true
}

// move takes in how the turn as a whole goes on.
func (x *turn) move(e *eventv1.Event) {
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_TurnRecoveryRequested:
		x.resume()
		if v.TurnRecoveryRequested.GetReason() == "attempt_lost" {
			x.note(noteEntry, "… attempt %d was lost; the turn is taken up again where it was", v.TurnRecoveryRequested.GetLostGeneration())
		}
	case *eventv1.Event_TurnReopened:
		x.resume()
		x.note(noteEntry, "… the turn goes on")
	case *eventv1.Event_TurnWaiting:
		x.wait(v.TurnWaiting)
	case *eventv1.Event_ContextCompacted:
		c := v.ContextCompacted
		x.note(noteEntry, "… the conversation was shortened for the model, from about %d to %d tokens (%s)", c.GetBeforeTokens(), c.GetAfterTokens(), c.GetReason())
	case *eventv1.Event_TurnCancelRequested:
		if x.active() {
			x.phase = cancelling
		}
	case *eventv1.Event_TurnCancelling:
		x.phase = cancelling
		x.note(noteEntry, "… cancelling; still alive: %s", strings.Join(v.TurnCancelling.GetUnconfirmed(), ", "))
	case *eventv1.Event_TurnCompleted:
		d := v.TurnCompleted
		x.end(completed, d.GetUsage())
		if d.GetSegmentLimit() != "" {
			x.note(troubleEntry, "cut short by %s after %s", d.GetSegmentLimit(), took(millis(d.GetDurationMs())))
			if d.GetDetail() != "" {
				x.note(noteEntry, "  %s", oneLine(d.GetDetail(), 400))
			}
		}
	case *eventv1.Event_TurnFailed:
		x.fail(v.TurnFailed)
	case *eventv1.Event_TurnCancelled:
		if x.phase != removed {
			x.end(cancelled, v.TurnCancelled.GetUsage())
			x.note(noteEntry, "%s", join("cancelled after "+took(millis(v.TurnCancelled.GetDurationMs())), v.TurnCancelled.GetReason()))
		}
	}
}

func (x *turn) resume() {
	x.phase, x.waitingFor, x.settled = running, "", false
	x.said.rev++
}

func (x *turn) wait(v *eventv1.TurnWaiting) {
	x.phase, x.waitingFor, x.thinking = waiting, v.GetWaitingFor(), false
	until := ""
	if v.GetUntil() != nil {
		until = " until " + v.GetUntil().AsTime().Local().Format(time.TimeOnly)
	}
	if f := v.GetError(); f != nil && v.GetRecoveries() == 0 {
		x.note(noteEntry, "… waiting for %s%s: %s (%s)", v.GetWaitingFor(), until, f.GetMessage(), f.GetCode())
		return
	} else if f != nil {
		x.note(noteEntry, "… waiting for the %s%s: %s (%s); try %d of %d comes then",
			v.GetWaitingFor(), until, f.GetMessage(), f.GetCode(), v.GetRecovery(), v.GetRecoveries())
		return
	}
	x.note(troubleEntry, "waiting for: %s%s", v.GetWaitingFor(), until)
	if v.GetWaitingFor() == "outcome_unknown" {
		x.note(noteEntry, "Nobody knows whether the call above took effect. Look at what it did, then let the turn go on with /recover, or say how to go on instead.")
	}
}

func (x *turn) fail(v *eventv1.TurnFailed) {
	x.end(failed, v.GetUsage())
	f := v.GetError()
	x.note(troubleEntry, "failed: %s (%s) after %s", f.GetMessage(), f.GetCode(), took(millis(v.GetDurationMs())))
	if f.GetDetail() != "" {
		x.note(noteEntry, "  %s", oneLine(f.GetDetail(), 400))
	}
	if f.GetRetryable() {
		x.note(noteEntry, "/recover tries the same turn again.")
	}
}

// end settles the turn; what its end says it used counts, not what was added up.
func (x *turn) end(p phase, used *messagev1.Usage) {
	x.phase, x.thinking, x.waitingFor = p, false, ""
	x.said.rev++
	if used != nil {
		x.spent, x.settled = proto.CloneOf(used), true
	}
	for _, a := range x.answers {
		if a.void() {
			a.rev++
		}
	}
	for _, c := range x.tools {
		if c.tool.progress != "" {
			c.tool.progress = ""
			c.rev++
		}
	}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
