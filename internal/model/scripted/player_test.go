package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// history writes `u:hello a t:result !:failed d:note` as items.
func history(words ...string) []*messagev1.Item {
	var all []*messagev1.Item
	for _, w := range words {
		kind, text, _ := strings.Cut(w, ":")
		item := &messagev1.Item{}
		switch kind {
		case "u":
			item.Item = &messagev1.Item_User{User: &messagev1.UserMessage{Text: text}}
		case "d":
			item.Item = &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: text}}
		case "a":
			item.Item = &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{}}
		default:
			item.Item = &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{Text: text, IsError: kind == "!"}}
		}
		all = append(all, item)
	}
	return all
}

// play gives an answer as words: texts, `?thought`, `name(args)#id`, `.finish`.
func play(m model.Model, req model.Request) ([]string, error) {
	var words []string
	for p, err := range m.Ask(context.Background(), req) {
		switch {
		case err != nil:
			return words, err
		case p.Reasoning != nil:
			words = append(words, "?"+p.Reasoning.GetText())
		case p.ToolCall != nil:
			words = append(words, p.ToolCall.GetName()+"("+p.ToolCall.GetArguments()+")#"+p.ToolCall.GetId())
		case p.Done != nil:
			words = append(words, "."+p.Done.FinishReason)
		default:
			words = append(words, p.Text)
		}
	}
	return words, nil
}

const twoTurns = `
turns:
  - when: ^one
    steps:
      - reasoning: hm
        text: first {{user}}
        tools:
          - {name: read, args: {z: 1, a: ["{{user}}", 2.5, null, true]}}
          - {name: list, id: mine}
      - text: "got {{last_tool}}"
        tools: [{name: bad, args: 'no {json'}]
      - {}
  - steps:
      - {text: abcde, chunk: 2, finish: length}
`

func TestPlays(t *testing.T) {
	t.Parallel()
	m := open(t, twoTurns)
	for name, c := range map[string]struct {
		history []*messagev1.Item
		want    []string
	}{
		"the first step": {
			history(`u:one "x"`),
			[]string{"?hm", `first one "x"`, `read({"z":1,"a":["one \"x\"",2.5,null,true]})#call_1_1_1`, "list({})#mine", ".tool_calls"},
		},
		"the second step":           {history("u:one", "a", "t:r1", "t:r2"), []string{"got r2", "bad(no {json)#call_1_2_1", ".tool_calls"}},
		"developer items are aside": {history("d:x", "u:one", "a", "d:y", "t:{{user}}"), []string{"got {{user}}", "bad(no {json)#call_1_2_1", ".tool_calls"}},
		"a blank step":              {history("u:one", "a", "a"), []string{".stop"}},
		"the second turn":           {history("u:one", "a", "a", "a", "u:two"), []string{"ab", "cd", "e", ".length"}},
		"an unanswered message":     {history("u:one", "u:two"), []string{"ab", "cd", "e", ".length"}},
	} {
		for range 2 { // nothing is remembered
			if got, err := play(m, model.Request{History: c.history}); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
			}
		}
	}
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	short := open(t, "steps: [{text: again}]")
	long := open(t, "repeat: true\nturns: [{steps: [{text: odd}]}, {steps: [{text: even}]}]")
	var h []string
	for i := range 5 {
		h = append(h, fmt.Sprintf("u:%d", i))
		want := []string{"odd", "even"}[i%2]
		if got, err := play(long, model.Request{History: history(h...)}); err != nil || got[0] != want {
			t.Errorf("turn %d plays %q, %v, want %q", i+1, got, err, want)
		}
		if got, err := play(short, model.Request{History: history(h...)}); err != nil || got[0] != "again" {
			t.Errorf("turn %d of the short form plays %q, %v", i+1, got, err)
		}
		h = append(h, "a")
	}
}

func TestDoesNotFit(t *testing.T) {
	t.Parallel()
	m := open(t, twoTurns)
	expects := open(t, `
steps:
  - expect: {tools_offered: [read, edit], instructions_contain: careful}
  - expect: {last_tool_contains: yes, last_tool_is_error: false}
`)
	all := model.Request{Instructions: "Be careful.", Tools: []model.ToolSpec{{Name: "read"}, {Name: "edit"}}}
	few := model.Request{Instructions: "Be careful.", Tools: all.Tools[:1]}
	for name, c := range map[string]struct {
		m    model.Model
		req  model.Request
		h    []*messagev1.Item
		says []string
	}{
		"no message":     {m, all, history("d:x"), []string{"no user message"}},
		"no turn left":   {m, all, history("u:one", "u:two", "u:three"), []string{"turn 3", "only 2 turns", "repeat"}},
		"no step left":   {m, all, history("u:one", "u:two", "a"), []string{"turn 2, step 2", "only 1 steps"}},
		"when":           {m, all, history("u:two"), []string{"turn 1", `"two"`, `"^one"`}},
		"tools":          {expects, few, history("u:x"), []string{`"edit"`, `["read"]`}},
		"instructions":   {expects, model.Request{Tools: all.Tools, Instructions: "Hurry."}, history("u:x"), []string{`"careful"`, `"Hurry."`}},
		"no tool ran":    {expects, all, history("u:x", "a"), []string{`"yes"`, "no tool ran"}},
		"tool result":    {expects, all, history("u:x", "a", "t:no"), []string{`"yes"`, `"no"`}},
		"tool's failure": {expects, all, history("u:x", "a", "!:yes"), []string{"is_error false", `"yes"`}},
	} {
		c.req.History = c.h
		got, err := play(c.m, c.req)
		var e *model.Error
		if !errors.As(err, &e) || e.Category != model.BadRequest || e.Status != 400 || got != nil {
			t.Errorf("%s: %q, %v, want a bad request", name, got, err)
			continue
		}
		for _, s := range append(c.says, "script.yaml") {
			if !strings.Contains(e.Message, s) {
				t.Errorf("%s: %q is not in %q", name, s, e.Message)
			}
		}
	}
	for name, h := range map[string][]*messagev1.Item{"the first": history("u:x"), "the second": history("u:x", "a", "t:yes!")} {
		all.History = h
		if got, err := play(expects, all); err != nil {
			t.Errorf("%s expectation holds, but: %q, %v", name, got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	m := open(t, `
turns:
  - steps:
      - error: {category: rate_limited, retry_after: 3, code: slow, message: Slow down., times: 2}
        text: at last
      - text: plain
      - error: {category: server_error, times: 1, status: 503, after_chunks: 1}
        reasoning: hm
        text: abcd
        chunk: 2
  - steps:
      - error: {category: network}
`)
	for _, c := range []struct {
		id   string
		h    []*messagev1.Item
		want []string
		err  *model.Error
	}{
		{"aex_1/1", history("u:x"), nil, &model.Error{Category: model.RateLimited, Status: 429, Code: "slow", Message: "Slow down.", RetryAfter: 3 * time.Second}},
		{"aex_1/2", history("u:x"), nil, &model.Error{Category: model.RateLimited, Status: 429, Code: "slow", Message: "Slow down.", RetryAfter: 3 * time.Second}},
		{"aex_1/3", history("u:x"), []string{"at last", ".stop"}, nil},
		{"aex_1/4", history("u:x", "a"), []string{"plain", ".stop"}, nil},
		{"aex_1/5", history("u:x", "a", "a"), []string{"?hm", "ab"}, &model.Error{Category: model.ServerError, Status: 503}},
		{"aex_1/6", history("u:x", "a", "a"), []string{"?hm", "ab", "cd", ".stop"}, nil},
		{"", history("u:x"), nil, &model.Error{Category: model.RateLimited, Status: 429, Code: "slow", Message: "Slow down.", RetryAfter: 3 * time.Second}},
		{"aex_2/9", history("u:x", "u:y"), nil, &model.Error{Category: model.Network}},
	} {
		got, err := play(m, model.Request{History: c.h, RequestID: c.id})
		var e *model.Error
		if errors.As(err, &e) != (c.err != nil) || c.err != nil && *e != *c.err || !slices.Equal(got, c.want) {
			t.Errorf("request %q: %q, %v, want %q, %v", c.id, got, err, c.want, c.err)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	m := open(t, "steps: [{text: '12345678', reasoning: abcd}, {usage: {input: 9, cached: 4}}, {usage: none}]")
	req := model.Request{Instructions: "1234", Tools: []model.ToolSpec{{Name: "1234"}}}
	for i, want := range []*messagev1.Usage{
		{InputTokens: 3, OutputTokens: 3, ReasoningTokens: 1}, {InputTokens: 9, CachedInputTokens: 4}, nil,
	} {
		req.History = history(append([]string{"u:1234"}, slices.Repeat([]string{"a"}, i)...)...)
		for p, err := range m.Ask(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if p.Done != nil && p.Done.Usage.String() != want.String() {
				t.Errorf("step %d: the usage is %v, want %v", i+1, p.Done.Usage, want)
			}
		}
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	m := open(t, "steps: [{text: abcdef, delay: 30s, chunk: 2, chunk_delay: 500ms}]")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		for _, err := range m.Ask(t.Context(), model.Request{History: history("u:x")}) {
			if err != nil {
				t.Error(err)
			}
			at = append(at, time.Since(start))
		}
		want := []time.Duration{30 * time.Second, 30500 * time.Millisecond, 31 * time.Second, 31 * time.Second}
		if !slices.Equal(at, want) {
			t.Errorf("parts come at %v, want %v", at, want)
		}
	})
}

func TestDelayEnds(t *testing.T) {
	t.Parallel()
	m := open(t, "steps: [{text: abcdef, delay: 1h}]")
	synctest.Test(t, func(t *testing.T) {
		start, cause := time.Now(), errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		for p, err := range m.Ask(ctx, model.Request{History: history("u:x")}) {
			if !errors.Is(err, cause) {
				t.Errorf("%+v, %v, want the cause", p, err)
			}
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("it took %v, want 1s", d)
		}
	})
}
