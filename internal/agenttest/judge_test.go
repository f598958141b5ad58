package agenttest

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// came is a turn that ended well.
var came = Outcome{
	Phase: "completed", Answer: "one\ntwo\nthree", ModelCalls: 3,
	Tools: []Done{
		{Name: "list", Arguments: `{"path":".","depth":2}`, State: "completed", Result: "a\nb"},
		{Name: "read", Arguments: `{"path":"a"}`, State: "failed", Result: "there is no a"},
		{Name: "read", Arguments: `{"path":"b"}`, State: "completed", Result: `{"n":1.0,"l":[{"x":1,"y":2}],"s":"t"}`},
	},
}

func reader(name string) (string, bool, error) {
	return "text of " + name, name != "gone", nil
}

// judged writes differences as a person sees them.
func judged(t *testing.T, e Expect, o Outcome) string {
	t.Helper()
	all, err := e.Judge(o, reader)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s\n  %s\n", d.What, strings.Join(d.Lines, "\n  "))
	}
	return b.String()
}

func TestWhatCameAsExpectedIsNoDifference(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{}",
		"phase: completed",
		"answer: {equals: \"one\\ntwo\\nthree\", contains: [one, two], matches: '(?s)^one.*three$'}",
		"tools: [{name: list}, {name: read}, {name: read}]",
		"tools: [{name: list, arguments: {path: .}, result: {contains: a}, state: completed}, {name: read, state: failed}, {name: read, result: {json: {n: 1, l: [{x: 1}]}}}]",
		"toolsInclude: [{name: read, arguments: {path: b}}]",
		"toolsInclude: []",
		"files: {gone: {absent: true}, here: {equals: text of here, contains: of}}",
		"modelCalls: {atMost: 3}",
	} {
		if said := judged(t, expect(t, text), came); said != "" {
			t.Errorf("%s:\n%s", text, said)
		}
	}
}

func TestADifferenceSaysWhatWasExpectedAndWhatCame(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"phase: failed":                   "phase\n  - failed\n  + completed\n",
		"error: some_code":                "phase\n  - failed\n  + completed\n",
		"segmentLimit: max_model_calls":   "segmentLimit\n  - max_model_calls\n  + none\n",
		"answer: {equals: \"one\\n2\"}":   "answer\n    one\n  - 2\n  + two\n  + three\n",
		"answer: {contains: [one, four]}": "answer contains\n  - four\n  + one\n  + two\n  + three\n",
		"answer: {matches: ^two}":         "answer matches\n  - ^two\n  + one\n  + two\n  + three\n",
		"answer: {json: {a: 1}}":          "answer json\n  - {\"a\":1}\n  + no JSON: one\n  + two\n  + three\n",
		"modelCalls: {atMost: 2}":         "modelCalls\n  - at most 2\n  + 3\n",
		"files: {gone: {equals: x}}":      "files gone\n  - a file\n  + absent\n",
		"files: {here: {absent: true}}":   "files here\n  - absent\n  + a file:\n  + text of here\n",
		"tools: []":                       "tools\n  + list {\"path\":\".\",\"depth\":2} (completed)\n  + read {\"path\":\"a\"} (failed)\n  + read {\"path\":\"b\"} (completed)\n",
		"tools: [{name: list}, {name: grep}, {name: read, arguments: {path: b, limit: 3}}]": `tools
    list {"path":".","depth":2} (completed)
  - grep
  ! read {"path":"a"} (failed)
      - arguments.limit 3
      + arguments.limit (nothing)
      - arguments.path "b"
      + arguments.path "a"
  + read {"path":"b"} (completed)
`,
		"toolsInclude: [{name: read, state: completed}, {name: list}]": `toolsInclude
  - read (completed)
    list {"path":".","depth":2} (completed)
    read {"path":"a"} (failed)
    read {"path":"b"} (completed)
`,
		"tools: [{name: list}, {name: read}, {name: read, result: {json: {n: 2, l: [1, 2], s: {}, z: null}}}]": `tools
    list {"path":".","depth":2} (completed)
    read {"path":"a"} (failed)
  ! read {"path":"b"} (completed)
      result json:
        - l [1,2]
        + l [{"x":1,"y":2}]
        - n 2
        + n 1.0
        - s {}
        + s "t"
        - z null
        + z (nothing)
`,
	} {
		if said := judged(t, expect(t, text), came); said != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, said, want)
		}
	}
	failed := Outcome{Phase: "failed", Error: "some_code", Message: "it broke"}
	for text, want := range map[string]string{
		"{}":                              "phase\n  - completed\n  + failed, some_code: it broke\n",
		"error: some_code":                "",
		"error: other_code":               "error\n  - other_code\n  + some_code: it broke\n",
		"phase: failed":                   "",
		"{phase: failed, error: another}": "error\n  - another\n  + some_code: it broke\n",
	} {
		if said := judged(t, expect(t, text), failed); said != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, said, want)
		}
	}
	if said := judged(t, Expect{}, Outcome{Phase: "completed", SegmentLimit: "max_model_calls"}); !strings.Contains(said, "+ max_model_calls") {
		t.Errorf("a turn that was cut short passes: %s", said)
	}
	if said := judged(t, Expect{}, Outcome{}); !strings.Contains(said, "+ no end") {
		t.Error(said)
	}
}

func TestALongTextShowsOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&a, "line %d\n", i)
		if i == 50 {
			b.WriteString("line fifty \n")
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	want := "  …\n  line 48\n  line 49\n- line 50\n+ line fifty ␄\n  line 51\n  line 52\n  …"
	if got := strings.Join(lines(a.String(), b.String()), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	huge := strings.Repeat("x\n", 5000)
	if n := len(lines(huge, huge+"y")); n < 2 {
		t.Error("nothing differs")
	}
}

func TestTheOutcomeFollowsFromTheEvents(t *testing.T) {
	t.Parallel()
	events := []*eventv1.Event{
		{Payload: &eventv1.Event_AgentModelRequest{AgentModelRequest: &eventv1.AgentModelRequest{Call: 1}}},
		{Payload: &eventv1.Event_AgentMessageCompleted{AgentMessageCompleted: &eventv1.AgentMessageCompleted{Text: "first"}}},
		{Payload: &eventv1.Event_AgentToolRequested{AgentToolRequested: &eventv1.AgentToolRequested{CallId: "1", Name: "read", Arguments: "{}"}}},
		{Payload: &eventv1.Event_AgentToolRequested{AgentToolRequested: &eventv1.AgentToolRequested{CallId: "2", Name: "shell", Arguments: "{}"}}},
		{Payload: &eventv1.Event_AgentToolRequested{AgentToolRequested: &eventv1.AgentToolRequested{CallId: "3", Name: "shell", Arguments: "{}"}}},
		{Payload: &eventv1.Event_AgentToolFailed{AgentToolFailed: &eventv1.AgentToolFailed{CallId: "2", Result: "denied"}}},
		{Payload: &eventv1.Event_AgentToolCompleted{AgentToolCompleted: &eventv1.AgentToolCompleted{CallId: "1", Result: "text"}}},
		{Payload: &eventv1.Event_AgentToolOutcomeUnknown{AgentToolOutcomeUnknown: &eventv1.AgentToolOutcomeUnknown{CallId: "3", Message: "unknown"}}},
		{Payload: &eventv1.Event_AgentModelRequest{AgentModelRequest: &eventv1.AgentModelRequest{Call: 2}}},
		{Payload: &eventv1.Event_TurnWaiting{TurnWaiting: &eventv1.TurnWaiting{}}},
		{Payload: &eventv1.Event_AgentMessageCompleted{AgentMessageCompleted: &eventv1.AgentMessageCompleted{Text: "last"}}},
		{Payload: &eventv1.Event_TurnFailed{TurnFailed: &eventv1.TurnFailed{Error: &agentexecutionv1.ExecutionError{Code: "c", Message: "m", Detail: "d"}}}},
	}
	for _, e := range events {
		e.Association = eventv1.Association_current
	}
	late := proto.CloneOf(events[0])
	late.Association = eventv1.Association_late_rejected
	got := fmt.Sprintf("%+v", Fold(append(events, late)))
	want := "{Phase:failed SegmentLimit: Error:c Message:m: d Answer:last Tools:[{ID:1 Name:read Arguments:{} Result:text State:completed} " +
		"{ID:2 Name:shell Arguments:{} Result:denied State:failed} {ID:3 Name:shell Arguments:{} Result:unknown State:outcome_unknown}] ModelCalls:2}"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestATextIsRewrittenInItsPlace(t *testing.T) {
	t.Parallel()
	before := "# first\nagent: a # who\nturns:\n  - say: x\n    # why\n    expect:\n      answer: {equals: old} # so\n      files:\n        a.b: {equals: &x old}\n        c: {equals: *x}\n"
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(before), &doc); err != nil {
		t.Fatal(err)
	}
	root := doc.Content[0]
	for path, want := range map[string]bool{"answer": true, "files a.b": false, "files c": false, "files d": false} {
		steps := append([]string{"expect"}, strings.Fields(path)...)
		if got := Rewrite(root, 0, append(steps, "equals"), "new: \"x\""); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if Rewrite(root, 1, []string{"expect", "answer", "equals"}, "x") {
		t.Error("a turn that is not there was rewritten")
	}
	after, err := yaml.Marshal(&doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# first\n", "# who\n", "# why\n", "# so\n", `answer: {equals: 'new: "x"'}`, "&x old", "*x"} {
		if !strings.Contains(string(after), want) {
			t.Errorf("%q is not in\n%s", want, after)
		}
	}
}
