package chat

import (
	"strings"
	"unicode/utf8"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// work takes in what tools do.
func (x *turn) work(e *eventv1.Event) bool {
	switch v := e.GetPayload().(type) {
	case *eventv1.Event_AgentToolRequested:
		d := v.AgentToolRequested
		x.call(d.GetCallId(), d.GetName(), func(c *call) {
			c.arguments, c.state = d.GetArguments(), "requested"
		})
	case *eventv1.Event_AgentToolStarted:
		d := v.AgentToolStarted
		x.call(d.GetCallId(), d.GetName(), func(c *call) {
			c.state, c.started, c.progress = "started", e.GetOccurredAt().AsTime(), ""
		})
	case *eventv1.Event_AgentToolProgress:
		d := v.AgentToolProgress
		x.call(d.GetCallId(), "", func(c *call) { c.progress = tail(c.progress+d.GetText(), mostProgress) })
	case *eventv1.Event_AgentToolCompleted:
		d := v.AgentToolCompleted
		x.call(d.GetCallId(), d.GetName(), func(c *call) {
			c.state, c.result, c.note, c.duration = "completed", d.GetResult(), d.GetSummary(), millis(d.GetDurationMs())
			c.progress = ""
			if d.GetRecovered() {
				c.note = join(c.note, "found done after a restart")
			}
		})
	case *eventv1.Event_AgentToolFailed:
		d := v.AgentToolFailed
		x.call(d.GetCallId(), d.GetName(), func(c *call) {
			c.state, c.result, c.note, c.duration = "failed", d.GetResult(), oneLine(d.GetResult(), 100), millis(d.GetDurationMs())
			c.progress = ""
		})
	case *eventv1.Event_AgentToolOutcomeUnknown:
		d := v.AgentToolOutcomeUnknown
		x.call(d.GetCallId(), d.GetName(), func(c *call) {
			c.state, c.note, c.progress = "unknown", oneLine(d.GetMessage(), 200), ""
		})
	default:
		return false
	}
	return true
}

// call changes the entry of a tool call, made when it is not known yet.
func (x *turn) call(id, name string, change func(*call)) {
	e := x.tools[id]
	if e == nil {
		e = &entry{kind: toolEntry, tool: call{id: id}}
		x.tools[id] = e
		x.entries = append(x.entries, e)
	}
	if name != "" {
		e.tool.name = name
	}
	change(&e.tool)
	e.rev++
	x.thinking = false
}

// tail is the end of a text, of at most so many bytes and whole characters.
func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-most:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

// lastLines are the last lines of what a command printed. A carriage return takes
// the line back that stands before it, as on a terminal.
func lastLines(s string, most int) []string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\r\n"), "\n")
	lines = lines[max(0, len(lines)-most):]
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines
}
