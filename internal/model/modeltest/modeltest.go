// Package modeltest is the suite that every model provider passes. A Scenario says
// in neutral terms what the model shall answer; the driver under test makes that
// happen on its own wire, for instance by a server on the loopback interface.
package modeltest

import (
	"context"
	"errors"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/model"
)

// Scenario is a conversation. A request whose history holds n answers of the
// model gets Answers[n]; requests may come at the same time and more than once.
type Scenario struct {
	Answers []Answer
}

// Answer is one answer. Its parts come in the order of the fields.
type Answer struct {
	Reasoning string           // readable thought; "" is none
	Text      []string         // pieces of equal length, each sent and flushed by itself
	Calls     []Call           // tool calls of this answer
	Fail      *model.Error     // ends the answer after its text, as the provider's wire does it
	Stall     bool             // after its parts nothing comes, and the connection stays open
	Finish    string           // neutral word: stop, tool_calls or length
	Usage     *messagev1.Usage // nil: the provider tells none
}

// Call is a tool call; Args are JSON.
type Call struct{ ID, Name, Args string }

// Driver is what the suite needs of a provider.
type Driver struct {
	// Provider is the provider's name in the history.
	Provider string
	// Open gives a model that answers as the scenario says, and frees it when the
	// test ends: there it waits for open connections, so that a leak shows.
	Open func(t *testing.T, s Scenario) model.Model
	// Skip names subtests that the provider cannot pass, with the reason.
	Skip map[string]string
}

// Run checks a provider.
func Run(t *testing.T, d Driver) {
	t.Helper()
	tests := map[string]func(*testing.T, Driver){
		"Text":          testText,
		"Streams":       testStreams,
		"Reasoning":     testReasoning,
		"ToolCalls":     testToolCalls,
		"Conversation":  testConversation,
		"Blank":         testBlank,
		"Length":        testLength,
		"NoUsage":       testNoUsage,
		"ErrorMidway":   testErrorMidway,
		"Images":        testIllustrated,
		"Sent":          testSent,
		"LeavesRequest": testLeavesRequest,
		"Break":         testBreak,
		"CancelBefore":  testCancelBefore,
		"CancelMidway":  testCancelMidway,
		"Concurrent":    testConcurrent,
	}
	for _, c := range model.Categories() {
		tests["Error/"+string(c)] = func(t *testing.T, d Driver) { testError(t, d, c) }
	}
	for name, run := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if why, ok := d.Skip[name]; ok {
				t.Skip(why)
			}
			run(t, d)
		})
	}
}

// said is a whole answer.
type said struct {
	texts     []string
	text      string
	reasoning []*messagev1.Reasoning
	thought   string
	calls     []*messagev1.ToolCall
	done      *model.Done
	err       error
}

// ask collects an answer and checks the rules that hold for each: one field per
// part, nothing empty, one end, nothing behind it.
func ask(ctx context.Context, t *testing.T, m model.Model, req model.Request) said {
	t.Helper()
	var s said
	for p, err := range m.Ask(ctx, req) {
		if s.done != nil || s.err != nil {
			t.Errorf("%+v, %v comes behind the end", p, err)
		}
		if err != nil {
			s.err = err
			if p.Text != "" || p.Reasoning != nil || p.ToolCall != nil || p.Done != nil {
				t.Errorf("a part comes with the error %v: %+v", err, p)
			}
			continue
		}
		s.add(t, p)
	}
	if s.done == nil && s.err == nil {
		t.Error("the stream ends without Done and without an error")
	}
	return s
}

func (s *said) add(t *testing.T, p model.Part) {
	t.Helper()
	set := 0
	if p.Text != "" {
		set++
		s.texts = append(s.texts, p.Text)
		s.text += p.Text
	}
	if p.Reasoning != nil {
		set++
		s.reasoning = append(s.reasoning, p.Reasoning)
		s.thought += p.Reasoning.GetText()
	}
	if p.ToolCall != nil {
		set++
		s.calls = append(s.calls, p.ToolCall)
	}
	if p.Done != nil {
		set++
		s.done = p.Done
	}
	if set != 1 {
		t.Errorf("the part %+v has %d fields set, want 1", p, set)
	}
}

// whole wants an answer that ended well.
func (s said) whole(t *testing.T) said {
	t.Helper()
	if s.err != nil {
		t.Fatalf("the answer ends with %v", s.err)
	}
	return s
}

// fails wants a *model.Error of a category.
func (s said) fails(t *testing.T, c model.Category) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(s.err, &e) {
		t.Fatalf("the error is %v, want a *model.Error", s.err)
	}
	if e.Category != c {
		t.Errorf("the category is %s, want %s: %v", e.Category, c, e)
	}
	return e
}

func user(text string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text}}}
}

// request is a first question.
func request() model.Request {
	return model.Request{
		Instructions: "Be brief.",
		History:      []*messagev1.Item{user("Hello.")},
		Tools:        []model.ToolSpec{{Name: "read", Description: "Reads a file.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`)}},
		RequestID:    "aex_1/1",
	}
}
