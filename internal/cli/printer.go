package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// printer shows events to a person, or one per line as JSON. Text is shown as it
// comes; what was shown from an ephemeral frame is not shown again when the
// durable delta arrives.
type printer struct {
	c       *app
	w       watch
	call    string // execution and number of the answer on the screen
	shown   int64  // bytes of it that were shown
	midLine bool
	tools   map[string]*eventv1.AgentToolRequested
}

func newPrinter(c *app, w watch) *printer {
	return &printer{c: c, w: w, tools: map[string]*eventv1.AgentToolRequested{}}
}

// event shows one durable event.
func (p *printer) event(e *eventv1.Event) {
	if p.w.json {
		p.c.printf("%s\n", compactJSON(e))
		return
	}
	if e.GetAssociation() != eventv1.Association_current || p.w.execution != "" && !p.w.all && e.GetExecutionId() != "" && e.GetExecutionId() != p.w.execution {
		return
	}
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_InputQueued:
		if p.w.all {
			p.line("> %s", v.InputQueued.GetText())
		}
	case *eventv1.Event_AgentMessageDelta:
		p.text(e.GetExecutionId(), v.AgentMessageDelta.GetCall(), v.AgentMessageDelta.GetOffset(), v.AgentMessageDelta.GetText())
	case *eventv1.Event_AgentMessageCompleted:
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
	case *eventv1.Event_TurnRecoveryRequested:
		p.say("the turn is taken up again where it was (attempt %d was lost)", v.TurnRecoveryRequested.GetLostGeneration())
	default:
		p.ending(e)
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
	case *eventv1.Event_TurnFailed:
		f := v.TurnFailed.GetError()
		p.line("failed: %s (%s) · %s · %s", f.GetMessage(), f.GetCode(), millis(v.TurnFailed.GetDurationMs()), tokens(v.TurnFailed.GetUsage()))
		if f.GetDetail() != "" {
			p.line("  %s", oneLine(f.GetDetail(), 400))
		}
	case *eventv1.Event_TurnCancelled:
		p.line("%s", join("cancelled after "+millis(v.TurnCancelled.GetDurationMs()), v.TurnCancelled.GetReason()))
	case *eventv1.Event_TurnWaiting:
		p.line("waiting for: %s", v.TurnWaiting.GetWaitingFor())
		if v.TurnWaiting.GetWaitingFor() == "outcome_unknown" {
			p.line("  look at what the call did, then say how to go on: cadre send %s -m TEXT", e.GetSessionId())
		}
	}
}

// ephemeral shows text that is not durable yet.
func (p *printer) ephemeral(d *eventv1.EphemeralDelta) {
	if p.w.json || d.GetReasoning() || p.w.execution != "" && !p.w.all && d.GetExecutionId() != p.w.execution {
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
	p.c.printf("%s", visible(fresh))
	p.midLine = !strings.HasSuffix(fresh, "\n")
}

// visible neutralises control characters that could rewrite the screen.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r >= 0xa0) {
			return r
		}
		return -1
	}, s)
}

func (p *printer) tool(mark, callID, name, note string, ms int64) {
	p.line("%s %s", mark, join(strings.TrimSpace(name+" "+subject(p.tools[callID].GetArguments())), note, millis(ms)))
}

// subject is the one argument that tells a person what a call is about.
func subject(arguments string) string {
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return ""
	}
	for _, key := range []string{"path", "pattern", "command", "url", "query"} {
		if s, ok := args[key].(string); ok {
			return oneLine(s, 60)
		}
	}
	return ""
}

// say tells something about the watching itself.
func (p *printer) say(format string, args ...any) {
	if p.w.json {
		p.c.note(format, args...)
		return
	}
	p.line("%s", "… "+fmt.Sprintf(format, args...))
}

func (p *printer) line(format string, args ...any) {
	p.endLine()
	p.c.printf("%s\n", visible(fmt.Sprintf(format, args...)))
}

func (p *printer) endLine() {
	if p.midLine {
		p.c.printf("\n")
		p.midLine = false
	}
}

func (p *printer) finish() { p.endLine() }

func join(parts ...string) string {
	var kept []string
	for _, s := range parts {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, " · ")
}

func millis(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return (time.Duration(ms) * time.Millisecond).Round(10 * time.Millisecond).String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func tokens(u *messagev1.Usage) string {
	s := fmt.Sprintf("%d tokens in, %d out", u.GetInputTokens(), u.GetOutputTokens())
	if u.GetEstimated() {
		s += " (partly estimated)"
	}
	return s
}
