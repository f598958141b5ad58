package modeltest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
	"google.golang.org/protobuf/proto"
)

// one makes a scenario of one answer.
func one(a Answer) Scenario { return Scenario{Answers: []Answer{a}} }

func testText(t *testing.T, d Driver) {
	usage := &messagev1.Usage{InputTokens: 12, OutputTokens: 7, CachedInputTokens: 4, ReasoningTokens: 3}
	m := d.Open(t, one(Answer{Text: []string{"Grüß", "e <&", "\n\t\"\\", "🎉 x."}, Finish: "stop", Usage: usage}))
	s := ask(t.Context(), t, m, request()).whole(t)
	if want := "Grüße <&\n\t\"\\🎉 x."; s.text != want {
		t.Errorf("the text is %q, want %q", s.text, want)
	}
	if s.done.FinishReason != "stop" {
		t.Errorf("the finish reason is %q, want stop", s.done.FinishReason)
	}
	if s.done.Usage != nil {
		s.done.Usage.CacheWriteInputTokens = 0 // which only some providers tell
	}
	if !proto.Equal(s.done.Usage, usage) {
		t.Errorf("the usage is %v, want %v", s.done.Usage, usage)
	}
	if len(s.calls) > 0 || s.thought != "" {
		t.Errorf("the answer also holds %v and %q", s.calls, s.thought)
	}
}

// testStreams: each piece arrives although no more follows.
func testStreams(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Text: []string{"one ", "two ", "thre"}, Stall: true}))
	got := ""
	for p, err := range m.Ask(t.Context(), request()) {
		if err != nil {
			t.Fatalf("after %q comes %v", got, err)
		}
		if got += p.Text; got == "one two thre" {
			return
		}
	}
	t.Errorf("the stream ends after %q", got)
}

func testReasoning(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Reasoning: "I think.", Text: []string{"So."}, Finish: "stop"}))
	s := ask(t.Context(), t, m, request()).whole(t)
	if s.thought != "I think." || s.text != "So." {
		t.Errorf("the thought is %q and the text %q", s.thought, s.text)
	}
}

func testToolCalls(t *testing.T, d Driver) {
	want := []Call{
		{"call_a", "read", `{"path":"a \"b\".txt","deep":{"list":[1,2.5,true,null,"ü"]}}`},
		{"call_b", "read", `{"path":"b.txt"}`},
		{"call_c", "list", `{}`},
	}
	m := d.Open(t, one(Answer{Text: []string{"I look."}, Calls: want, Finish: "tool_calls"}))
	s := ask(t.Context(), t, m, request()).whole(t)
	if s.text != "I look." || s.done.FinishReason != "tool_calls" || len(s.calls) != len(want) {
		t.Fatalf("the answer is %q, %v, %+v", s.text, s.calls, s.done)
	}
	for i, c := range s.calls {
		if c.GetName() != want[i].Name || !sameJSON(t, c.GetArguments(), want[i].Args) {
			t.Errorf("call %d is %v, want %v", i, c, want[i])
		}
		if c.GetId() != "" && c.GetId() != want[i].ID {
			t.Errorf("call %d has the id %q, want %q or none", i, c.GetId(), want[i].ID)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Errorf("the arguments %q are no JSON: %v", a, err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(x)
	two, _ := json.Marshal(y)
	return string(one) == string(two)
}

// testConversation: tool results lead to the next answer, with all that the
// provider wants back of the one before.
func testConversation(t *testing.T, d Driver) {
	m := d.Open(t, Scenario{Answers: []Answer{
		{Reasoning: "First.", Text: []string{"One."}, Calls: []Call{{"call_1", "read", `{"path":"a"}`}, {"call_2", "read", `{"path":"b"}`}}, Finish: "tool_calls"},
		{Calls: []Call{{"call_3", "read", `{"path":"c"}`}}, Finish: "tool_calls"},
		{Text: []string{"Done."}, Finish: "stop"},
	}})
	req := request()
	for n := range 3 {
		s := ask(t.Context(), t, m, req).whole(t)
		if n == 2 {
			if s.text != "Done." || len(s.calls) > 0 {
				t.Errorf("the last answer is %q, %v", s.text, s.calls)
			}
			return
		}
		if want := 2 - n; len(s.calls) != want {
			t.Fatalf("answer %d has %d calls, want %d", n+1, len(s.calls), want)
		}
		req.History = append(slices.Clone(req.History), s.items(d.Provider)...)
	}
}

// items are what an answer and the results of its calls leave in the history.
func (s said) items(provider string) []*messagev1.Item {
	a := &messagev1.AssistantMessage{Provider: provider, ResponseId: s.done.ResponseID, FinishReason: s.done.FinishReason}
	for _, r := range s.reasoning {
		a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Reasoning{Reasoning: r}})
	}
	if s.text != "" {
		a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_Text{Text: s.text}})
	}
	items := []*messagev1.Item{{Item: &messagev1.Item_Assistant{Assistant: a}}}
	for i, c := range s.calls {
		if c.GetId() == "" {
			c.Id = string(rune('a' + i))
		}
		a.Parts = append(a.Parts, &messagev1.AssistantPart{Part: &messagev1.AssistantPart_ToolCall{ToolCall: c}})
		items = append(items, &messagev1.Item{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{
			CallId: c.GetId(), Name: c.GetName(), Text: "the result", IsError: i == 1,
		}}})
	}
	return items
}

func testBlank(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Finish: "stop"}))
	s := ask(t.Context(), t, m, request()).whole(t)
	if s.text != "" || len(s.calls) > 0 || s.done.FinishReason != "stop" {
		t.Errorf("a blank answer is %q, %v, %+v", s.text, s.calls, s.done)
	}
}

func testLength(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Text: []string{"Cut"}, Finish: "length"}))
	if s := ask(t.Context(), t, m, request()).whole(t); s.done.FinishReason != "length" {
		t.Errorf("the finish reason is %q, want length", s.done.FinishReason)
	}
}

func testNoUsage(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Text: []string{"Hi."}, Finish: "stop"}))
	if s := ask(t.Context(), t, m, request()).whole(t); s.done.Usage != nil {
		t.Errorf("the usage is %v, want nil: the provider told none", s.done.Usage)
	}
}

func testError(t *testing.T, d Driver, c model.Category) {
	want := &model.Error{Category: c, Message: "the provider's own words"}
	if c == model.RateLimited {
		want.RetryAfter = 7 * time.Second
	}
	m := d.Open(t, one(Answer{Fail: want}))
	s := ask(t.Context(), t, m, request())
	if got := s.fails(t, c); got.RetryAfter != want.RetryAfter {
		t.Errorf("it asks to wait %s, want %s", got.RetryAfter, want.RetryAfter)
	}
	if s.text != "" {
		t.Errorf("the text %q comes before the error", s.text)
	}
}

func testErrorMidway(t *testing.T, d Driver) {
	m := d.Open(t, one(Answer{Text: []string{"half ", "said "}, Fail: &model.Error{Category: model.Network, Message: "cut"}}))
	s := ask(t.Context(), t, m, request())
	_ = s.fails(t, model.Network)
	if s.text != "half said " {
		t.Errorf("before the cut came %q", s.text)
	}
}
