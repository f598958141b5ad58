package cli

import (
	"fmt"
	"strings"
	"sync"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// printer shows events to a person, or one per line as JSON. Text is shown as it
// comes; what was shown from an ephemeral frame is not shown again when the
// durable delta arrives. Safe for concurrent use.
type printer struct {
	c       *app
	w       watch
	mu      sync.Mutex
	call    string // execution and number of the answer on the screen
	shown   int64  // bytes of it that were shown
	midLine bool
	tools   map[string]*eventv1.AgentToolRequested
	inputs  map[string]string // what was said, by the turn that answers it
	running map[string]bool   // turns that have not ended
	answer  string            // the newest whole answer
}

func newPrinter(c *app, w watch) *printer {
	return &printer{c: c, w: w, tools: map[string]*eventv1.AgentToolRequested{}, inputs: map[string]string{}, running: map[string]bool{}}
}

// event shows one durable event.
func (p *printer) event(e *eventv1.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w.json {
		p.c.printf("%s\n", compactJSON(e))
		return
	}
	if e.GetAssociation() != eventv1.Association_current || !p.watches(e.GetExecutionId()) {
		return
	}
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_InputQueued, *eventv1.Event_InputRemoved, *eventv1.Event_TurnStarted:
		p.input(e)
	case *eventv1.Event_AgentMessageDelta:
		p.text(e.GetExecutionId(), v.AgentMessageDelta.GetCall(), v.AgentMessageDelta.GetOffset(), v.AgentMessageDelta.GetText())
	case *eventv1.Event_AgentMessageCompleted:
		p.answer = v.AgentMessageCompleted.GetText()
		p.text(e.GetExecutionId(), v.AgentMessageCompleted.GetCall(), 0, v.AgentMessageCompleted.GetText())
		p.endLine()
	case *eventv1.Event_AgentToolRequested:
		p.tools[v.AgentToolRequested.GetCallId()] = v.AgentToolRequested
	case *eventv1.Event_AgentToolCompleted:
		note := v.AgentToolCompleted.GetSummary()
		if v.AgentToolCompleted.GetRecovered() {
			note = join(note, "found done after a restart")
		}
		p.tool("✓", v.AgentToolCompleted.GetCallId(), v.AgentToolCompleted.GetName(), note, v.AgentToolCompleted.GetDurationMs())
	case *eventv1.Event_AgentToolFailed:
		p.tool("✗", v.AgentToolFailed.GetCallId(), v.AgentToolFailed.GetName(), oneLine(v.AgentToolFailed.GetResult(), 100), v.AgentToolFailed.GetDurationMs())
	case *eventv1.Event_AgentToolOutcomeUnknown:
		p.tool("?", v.AgentToolOutcomeUnknown.GetCallId(), v.AgentToolOutcomeUnknown.GetName(), v.AgentToolOutcomeUnknown.GetMessage(), 0)
	case *eventv1.Event_AgentToolProgress:
		p.progress(v.AgentToolProgress.GetText())
	case *eventv1.Event_TurnRecoveryRequested:
		p.line("… the turn is taken up again where it was%s", lostNote(v.TurnRecoveryRequested))
	case *eventv1.Event_SandboxFailed:
		p.line("… the sandbox did not start: %s", oneLine(v.SandboxFailed.GetMessage(), 200))
	case *eventv1.Event_TurnCancelling:
		p.line("… cancelling; still alive: %s", strings.Join(v.TurnCancelling.GetUnconfirmed(), ", "))
	default:
		p.beside(e)
		p.ending(e)
	}
}

// watches says whether a turn is one of those to show.
func (p *printer) watches(execution string) bool {
	return p.w.all() || execution == "" || execution == p.w.execution
}

// input shows what a person said, when its turn begins. One who gave the message
// on the command line knows it.
func (p *printer) input(e *eventv1.Event) {
	x := e.GetExecutionId()
	if !p.w.all() {
		return
	}
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_InputQueued:
		p.inputs[x] = v.InputQueued.GetText()
		if len(p.running) > 0 {
			p.line("… queued: %s", oneLine(p.inputs[x], 100))
		}
		p.running[x] = true
	case *eventv1.Event_InputRemoved:
		p.line("… removed: %s", oneLine(p.inputs[x], 100))
	case *eventv1.Event_TurnStarted:
		p.line("> %s", strings.TrimSpace(p.inputs[x]))
	}
}

func (p *printer) ending(e *eventv1.Event) {
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_TurnCompleted:
		t := v.TurnCompleted
		note := fmt.Sprintf("completed in %s · %s · %s · %s", millis(t.GetDurationMs()), count(int(t.GetModelCalls()), "model call"), count(int(t.GetToolCalls()), "tool call"), tokens(t.GetUsage()))
		if t.GetSegmentLimit() != "" {
			note = "cut short by " + t.GetSegmentLimit() + "; " + note
		}
		p.line("%s", note)
		if t.GetDetail() != "" {
			p.line("  %s", oneLine(t.GetDetail(), 400))
		}
		p.conclude()
	case *eventv1.Event_TurnFailed:
		f := v.TurnFailed.GetError()
		p.line("failed: %s (%s) · %s · %s", f.GetMessage(), f.GetCode(), millis(v.TurnFailed.GetDurationMs()), tokens(v.TurnFailed.GetUsage()))
		if f.GetDetail() != "" {
			p.line("  %s", oneLine(f.GetDetail(), 400))
		}
	case *eventv1.Event_TurnCancelled:
		p.line("%s", join("cancelled after "+millis(v.TurnCancelled.GetDurationMs()), v.TurnCancelled.GetReason()))
	case *eventv1.Event_TurnWaiting:
		p.waiting(v.TurnWaiting)
		if v.TurnWaiting.GetWaitingFor() == "outcome_unknown" {
			p.line("  look at what the call did, then let the turn go on: cadre recover %s", e.GetSessionId())
			p.line("  or say how to go on instead: cadre send %s -m TEXT", e.GetSessionId())
		}
		return
	default:
		return
	}
	delete(p.running, e.GetExecutionId())
}

// progress shows what a running tool prints, set off from the answer.
func (p *printer) progress(text string) {
	for line := range strings.Lines(text) {
		p.line("  │ %s", strings.TrimRight(line, "\r\n"))
	}
}

func lostNote(v *eventv1.TurnRecoveryRequested) string {
	if v.GetReason() == "attempt_lost" {
		return fmt.Sprintf(" (attempt %d was lost)", v.GetLostGeneration())
	}
	return ""
}

// waiting says for what a turn waits and until when, and why it is tried again.
func (p *printer) waiting(v *eventv1.TurnWaiting) {
	until := ""
	if v.GetUntil() != nil {
		until = " until " + v.GetUntil().AsTime().Local().Format("15:04:05")
	}
	if v.GetError() == nil {
		p.line("waiting for: %s%s", v.GetWaitingFor(), until)
		return
	}
	if p.w.quiet {
		return
	}
	if v.GetRecoveries() == 0 {
		p.line("… waiting for %s%s: %s (%s)", v.GetWaitingFor(), until, v.GetError().GetMessage(), v.GetError().GetCode())
		return
	}
	p.line("… waiting for the %s%s: %s (%s); try %d of %d comes then",
		v.GetWaitingFor(), until, v.GetError().GetMessage(), v.GetError().GetCode(), v.GetRecovery(), v.GetRecoveries())
}

// ephemeral shows text that is not durable yet.
func (p *printer) ephemeral(d *eventv1.EphemeralDelta) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w.json || d.GetReasoning() || !p.watches(d.GetExecutionId()) {
		return
	}
	p.text(d.GetExecutionId(), d.GetCall(), d.GetOffset(), d.GetText())
}

// text shows the part of a piece that was not shown yet. A piece that leaves a
// gap waits for the durable delta that fills it.
func (p *printer) text(execution string, call int32, offset int64, text string) {
	key := fmt.Sprintf("%s/%d", execution, call)
	if key != p.call {
		p.endLine()
		p.call, p.shown = key, 0
	}
	if offset > p.shown || offset+int64(len(text)) <= p.shown {
		return
	}
	fresh := text[p.shown-offset:]
	p.shown = offset + int64(len(text))
	p.print("%s", visible(fresh))
	p.midLine = !strings.HasSuffix(fresh, "\n")
}

func (p *printer) tool(mark, callID, name, note string, ms int64) {
	p.line("%s %s", mark, join(strings.TrimSpace(name+" "+subject(p.tools[callID].GetArguments())), note, millis(ms)))
}

// say tells something about the watching itself, between what is shown.
func (p *printer) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w.json {
		p.c.note(format, args...)
		return
	}
	p.line("… "+format, args...)
}

// aside tells a person something that is no part of what is shown.
func (p *printer) aside(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
	p.c.note(format, args...)
}

func (p *printer) line(format string, args ...any) {
	p.endLine()
	p.print("%s\n", visible(fmt.Sprintf(format, args...)))
}

// print shows something to a person: on standard output, unless that is for the
// answer alone.
func (p *printer) print(format string, args ...any) {
	out := p.c.out
	if p.w.only {
		out = p.c.err
	}
	_, _ = fmt.Fprintf(out, format, args...)
}

// conclude prints the final answer where it alone is asked for.
func (p *printer) conclude() {
	if !p.w.only || p.w.json || p.answer == "" {
		return
	}
	p.endLine()
	p.c.printf("%s\n", strings.TrimRight(visible(p.answer), "\n"))
}

func (p *printer) endLine() {
	if p.midLine {
		p.print("\n")
		p.midLine = false
	}
}

func (p *printer) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
}
