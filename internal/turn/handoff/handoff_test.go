package handoff_test

import (
	"strings"
	"testing"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/turn/handoff"
)

// TestWhenAReplyIsOwed: T46, T47, T48, T49
func TestWhenAReplyIsOwed(t *testing.T) {
	t.Parallel()
	reply := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		ending handoff.Ending
		want   bool
	}{
		"T46 empty after tools":            {handoff.Ending{Reply: reply(""), Tools: true}, true},
		"T46 blank after tools":            {handoff.Ending{Reply: reply(" \n\t "), Tools: true}, true},
		"T46 empty after a goal":           {handoff.Ending{Reply: reply(""), GoalCompleted: true}, true},
		"T46 blank after both":             {handoff.Ending{Reply: reply("\n\n"), Tools: true, GoalCompleted: true}, true},
		"T47 nothing was done":             {handoff.Ending{Reply: reply("")}, false},
		"T48 a word":                       {handoff.Ending{Reply: reply(" Done. "), Tools: true}, false},
		"T48 a sign":                       {handoff.Ending{Reply: reply("."), Tools: true, GoalCompleted: true}, false},
		"T48 no answer of text":            {handoff.Ending{Tools: true, GoalCompleted: true}, false},
		"T49 it waits":                     {handoff.Ending{Reply: reply(""), Tools: true, Waiting: true}, false},
		"T49 it was interrupted":           {handoff.Ending{Reply: reply(""), Tools: true, Interrupted: true}, false},
		"T49 it is maintenance":            {handoff.Ending{Reply: reply(""), Tools: true, Maintenance: true}, false},
		"T49 it waits, with a goal":        {handoff.Ending{Reply: reply(""), GoalCompleted: true, Waiting: true}, false},
		"T49 it was interrupted in a goal": {handoff.Ending{Reply: reply(""), GoalCompleted: true, Interrupted: true}, false},
		"T49 maintenance of a goal":        {handoff.Ending{Reply: reply(""), GoalCompleted: true, Maintenance: true}, false},
	} {
		if got := c.ending.Needed(); got != c.want {
			t.Errorf("%s: needed is %t", name, got)
		}
	}
}

// TestTheItem: it is the developer's, and begins with a marker that names the execution. T50
func TestTheItem(t *testing.T) {
	t.Parallel()
	item := handoff.Item("aex_x1")
	text := item.GetDeveloper().GetText()
	first, _, _ := strings.Cut(text, "\n")
	if item.GetDeveloper() == nil || !strings.HasPrefix(first, "[") || !strings.HasSuffix(first, " aex_x1]") {
		t.Errorf("the item is %v", item)
	}
	if strings.Count(text, "aex_x1") != 1 || text != handoff.Text("aex_x1") {
		t.Errorf("it says %q", text)
	}
}

// TestWhatTheModelIsTold: each thing that it must know is there. T51
func TestWhatTheModelIsTold(t *testing.T) {
	t.Parallel()
	text := handoff.Text("aex_1")
	for what, words := range map[string]string{
		"that the answer was empty":             "Your last answer was empty",
		"to deliver it":                         "Give them now what they asked for",
		"or to sum it up with its artifact":     "say in short what came of it and name the artifact",
		"that proof is no answer":               "What you noted as proof for a goal, and completing the goal, reached nobody",
		"to use what is there":                  "All that you need stands above",
		"not to repeat tools":                   "Do not call again what has completed",
		"not to begin anew":                     "do not begin the task anew",
		"to take in what children bring late":   "result of a child session arrived late",
		"that the goal stays":                   "The goal stays as it is",
		"to make nothing up":                    "Say only what the history shows",
		"that what is not known is to be said":  "not known, say that",
		"that what is owed is still to be told": "deliver what is still owed",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("it does not say %s", what)
		}
	}
}

func developer(text string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: text}}}
}

func user(text string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text}}}
}

func assistant(text string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_Assistant{Assistant: &messagev1.AssistantMessage{
		Parts: []*messagev1.AssistantPart{{Part: &messagev1.AssistantPart_Text{Text: text}}},
	}}}
}

// TestTheItemIsRecognised: anywhere, by its very words and role. T52, T53
func TestTheItemIsRecognised(t *testing.T) {
	t.Parallel()
	text := handoff.Text("aex_x")
	for name, c := range map[string]struct {
		history []*messagev1.Item
		want    bool
	}{
		"T52 alone":                        {[]*messagev1.Item{handoff.Item("aex_x")}, true},
		"T52 first":                        {[]*messagev1.Item{handoff.Item("aex_x"), user("a"), assistant("b")}, true},
		"T52 in the middle":                {[]*messagev1.Item{user("a"), handoff.Item("aex_x"), assistant("b"), user("c")}, true},
		"T52 last, among others":           {[]*messagev1.Item{developer("x"), handoff.Item("aex_y"), nil, handoff.Item("aex_x")}, true},
		"T53 nothing":                      {nil, false},
		"T53 of another execution":         {[]*messagev1.Item{handoff.Item("aex_y")}, false},
		"T53 of one with a longer name":    {[]*messagev1.Item{handoff.Item("aex_xx")}, false},
		"T53 said by the person":           {[]*messagev1.Item{user(text)}, false},
		"T53 said by the model":            {[]*messagev1.Item{assistant(text)}, false},
		"T53 as a tool's result":           {[]*messagev1.Item{{Item: &messagev1.Item_ToolResult{ToolResult: &messagev1.ToolResult{Text: text}}}}, false},
		"T53 one sign is another":          {[]*messagev1.Item{developer(strings.Replace(text, "empty", "emptY", 1))}, false},
		"T53 one sign more":                {[]*messagev1.Item{developer(text + " ")}, false},
		"T53 a part of it":                 {[]*messagev1.Item{developer(text[:len(text)-1])}, false},
		"T53 entries without content":      {[]*messagev1.Item{nil, {}, {Item: &messagev1.Item_Developer{}}, {Item: &messagev1.Item_User{}}}, false},
		"T53 an empty item of a developer": {[]*messagev1.Item{developer("")}, false},
	} {
		if got := handoff.Asked(c.history, "aex_x"); got != c.want {
			t.Errorf("%s: recognised is %t", name, got)
		}
	}
}
