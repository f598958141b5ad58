package scripted

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cadre-dev/cadre/internal/model"
)

// mostDelay keeps a slip of the pen from stopping a script for ever: that is what
// hang is for.
const mostDelay = time.Hour

// fields of the whole script.
func (s *script) fields(short *[]step) table {
	return table{
		"description": func(p *parser, n *yaml.Node) error { return p.text(n, new(string)) },
		"repeat":      func(p *parser, n *yaml.Node) error { return p.flag(n, &s.repeat) },
		"turns": func(p *parser, n *yaml.Node) error {
			return p.list(n, 1, func(n *yaml.Node) error {
				s.turns = append(s.turns, turn{})
				return p.mapping(n, "a turn", s.turns[len(s.turns)-1].fields(), "steps")
			})
		},
		"steps":  func(p *parser, n *yaml.Node) error { return p.steps(n, short) },
		"window": func(p *parser, n *yaml.Node) error { return integer(p, n, &s.window, 1) },
		"compaction": func(p *parser, n *yaml.Node) error {
			s.compaction = new(compaction)
			return p.mapping(n, "a compaction", s.compaction.fields())
		},
	}
}

// fields of a compaction: those of a step that make sense of it, and its own.
func (c *compaction) fields() table {
	all := table{
		"remote": func(p *parser, n *yaml.Node) error {
			c.remote = new(remote)
			return p.mapping(n, "the provider's own form", c.remote.fields(), "feature", "implementation")
		},
		"recoverable": func(p *parser, n *yaml.Node) error { return p.flag(n, &c.recoverable) },
	}
	for name, read := range c.step.fields() {
		switch name {
		case "text", "delay", "usage", "hang", "error":
			all[name] = read
		}
	}
	return all
}

func (r *remote) fields() table {
	return table{
		"feature":        func(p *parser, n *yaml.Node) error { return p.word(n, &r.feature) },
		"implementation": func(p *parser, n *yaml.Node) error { return p.word(n, &r.implementation) },
	}
}

// steps reads a list of steps.
func (p *parser) steps(n *yaml.Node, to *[]step) error {
	return p.list(n, 1, func(n *yaml.Node) error {
		*to = append(*to, step{})
		s := &(*to)[len(*to)-1]
		if err := p.mapping(n, "a step", s.fields()); err != nil {
			return err
		}
		if s.fail != nil && (s.hang || len(s.tools) > 0 || s.finish != "") && s.fail.times == 0 {
			return p.wrong(n, "a step that always fails can have neither tools, finish nor hang: give the error `times`, or take them out")
		}
		return nil
	})
}

func (t *turn) fields() table {
	return table{
		"when":  func(p *parser, n *yaml.Node) error { return p.pattern(n, &t.when) },
		"steps": func(p *parser, n *yaml.Node) error { return p.steps(n, &t.steps) },
	}
}

func (s *step) fields() table {
	return table{
		"reasoning": func(p *parser, n *yaml.Node) error { return p.text(n, &s.reasoning) },
		"text":      func(p *parser, n *yaml.Node) error { return p.text(n, &s.text) },
		"tools": func(p *parser, n *yaml.Node) error {
			return p.list(n, 1, func(n *yaml.Node) error {
				s.tools = append(s.tools, toolCall{args: "{}"})
				return p.mapping(n, "a tool call", s.tools[len(s.tools)-1].fields(), "name")
			})
		},
		"delay":       func(p *parser, n *yaml.Node) error { return p.duration(n, &s.delay) },
		"chunk":       func(p *parser, n *yaml.Node) error { return integer(p, n, &s.chunk, 1) },
		"chunk_delay": func(p *parser, n *yaml.Node) error { return p.duration(n, &s.chunkDelay) },
		"usage":       func(p *parser, n *yaml.Node) error { s.usage = new(usage); return s.usage.read(p, n) },
		"finish":      func(p *parser, n *yaml.Node) error { return p.word(n, &s.finish) },
		"hang":        func(p *parser, n *yaml.Node) error { return p.flag(n, &s.hang) },
		"error":       func(p *parser, n *yaml.Node) error { s.fail = new(failure); return s.fail.read(p, n) },
		"expect": func(p *parser, n *yaml.Node) error {
			s.expect = new(expectation)
			return p.mapping(n, "an expectation", s.expect.fields())
		},
	}
}

func (c *toolCall) fields() table {
	return table{
		"id":   func(p *parser, n *yaml.Node) error { return p.word(n, &c.id) },
		"name": func(p *parser, n *yaml.Node) error { return p.word(n, &c.name) },
		"args": func(p *parser, n *yaml.Node) error { return p.arguments(n, &c.args) },
	}
}

func (u *usage) fields() table {
	return table{
		"input":     func(p *parser, n *yaml.Node) error { return integer(p, n, &u.input, 0) },
		"output":    func(p *parser, n *yaml.Node) error { return integer(p, n, &u.output, 0) },
		"cached":    func(p *parser, n *yaml.Node) error { return integer(p, n, &u.cached, 0) },
		"reasoning": func(p *parser, n *yaml.Node) error { return integer(p, n, &u.reasoning, 0) },
	}
}

// read takes the figures, or the word none.
func (u *usage) read(p *parser, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Value == "none" {
		u.none = true
		return nil
	}
	return p.mapping(n, "usage", u.fields())
}

func (f *failure) fields() table {
	return table{
		"category": func(p *parser, n *yaml.Node) error { return p.category(n, &f.err.Category) },
		"status":   func(p *parser, n *yaml.Node) error { return integer(p, n, &f.err.Status, 0) },
		"code":     func(p *parser, n *yaml.Node) error { return p.text(n, &f.err.Code) },
		"message":  func(p *parser, n *yaml.Node) error { return p.text(n, &f.err.Message) },
		"retry_after": func(p *parser, n *yaml.Node) error {
			seconds := 0
			err := integer(p, n, &seconds, 0)
			f.err.RetryAfter = time.Duration(min(seconds, longestWait)) * time.Second
			return err
		},
		"after_chunks": func(p *parser, n *yaml.Node) error { return integer(p, n, &f.afterChunks, 0) },
		"times":        func(p *parser, n *yaml.Node) error { return integer(p, n, &f.times, 1) },
	}
}

// longestWait bounds, in seconds, what a script asks to wait; more is kept as this.
const longestWait = 366 * 24 * 60 * 60

// statuses are what providers usually answer; other categories have none.
var statuses = map[model.Category]int{
	model.RateLimited: 429, model.Overloaded: 529, model.Quota: 429, model.ContextTooLong: 400,
	model.Authentication: 401, model.BadRequest: 400, model.ServerError: 500,
}

// read takes an error and fills in its status.
func (f *failure) read(p *parser, n *yaml.Node) error {
	f.err.Status = -1
	err := p.mapping(n, "an error", f.fields(), "category")
	if f.err.Status < 0 {
		f.err.Status = statuses[f.err.Category]
	}
	return err
}

func (e *expectation) fields() table {
	return table{
		"last_tool_contains": func(p *parser, n *yaml.Node) error { e.lastTool = new(string); return p.text(n, e.lastTool) },
		"last_tool_is_error": func(p *parser, n *yaml.Node) error {
			e.lastToolIsError = new(bool)
			return p.flag(n, e.lastToolIsError)
		},
		"instructions_contain": func(p *parser, n *yaml.Node) error { e.instructions = new(string); return p.text(n, e.instructions) },
		"tools_offered": func(p *parser, n *yaml.Node) error {
			return p.list(n, 1, func(n *yaml.Node) error {
				e.offers = append(e.offers, "")
				return p.word(n, &e.offers[len(e.offers)-1])
			})
		},
	}
}
