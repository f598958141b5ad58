package agenttest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const head = "agent: a.yaml\nturns:\n  - say: hello\n"

func read(t *testing.T, text string) (*Test, error) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return Read(doc.Content[0])
}

// expect reads what one turn expects.
func expect(t *testing.T, text string) Expect {
	t.Helper()
	test, err := read(t, head+"    expect:\n      "+strings.ReplaceAll(text, "\n", "\n      "))
	if err != nil {
		t.Fatal(err)
	}
	return test.Turns[0].Expect
}

func TestWhatIsWrongHasItsPlaceAndAnAdvice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hello":                                                                     `1:1: a test has fields of its own, and this is "hello"`,
		"agent: a\n":                                                                `1:1: a test needs the field "turns"`,
		"turns: []\n":                                                               `1:8: the list is empty`,
		"agnet: a\n":                                                                `1:1: unknown field "agnet"; a test has agent, approve, cassette, effort, model, name, turns and workspace. Did you mean "agent"?`,
		head + "agent: b.yaml\n":                                                    `4:1: agent is given twice`,
		head + "approve: ask\n":                                                     `4:10: here must be one of auto and deny, and this is "ask"`,
		head + "approve: auot\n":                                                    `Did you mean "auto"?`,
		head + "workspace: {files: {../x: y}}\n":                                    `4:21: "../x" is no path below the workspace`,
		head + "workspace: {files: {a: 1}}\n":                                       `4:24: here must be text, and this is "1": put it in quotes`,
		head + "    expct: {}\n":                                                    `4:5: unknown field "expct"; a turn has attach, expect, say and schema. Did you mean "expect"?`,
		head + "    expect: {answer: x}\n":                                          `4:22: the answer has fields of its own, and this is "x"`,
		head + "    expect: {answer: {}}\n":                                         `4:22: the answer says nothing: write equals, contains, matches or json below it`,
		head + "    expect: {answer: {matches: '('}}":                               `4:32: the regular expression is not valid`,
		head + "    expect: {answer: {json: null}}\n":                               `4:29: here must be a value`,
		head + "    expect: {error: x, phase: completed}\n":                         `4:13: a turn with an error has the phase failed`,
		head + "    expect: {tools: [], toolsInclude: []}\n":                        `4:13: tools says all calls and toolsInclude some of them`,
		head + "    expect: {tools: [{nme: x}]}\n":                                  `4:23: unknown field "nme"; a call has arguments, name, result and state. Did you mean "name"?`,
		head + "    expect: {tools: [{name: x, arguments: a}]}\n":                   `4:43: arguments has fields, such as {path: README.md}, and this is "a"`,
		head + "    expect: {tools: [{name: x, arguments: {a: .inf}}]}\n":           `JSON has no such value`,
		head + "    expect: {files: {a: {absent: false}}}\n":                        `4:34: absent is true, or is left out`,
		head + "    expect: {files: {a: {absent: true, equals: x}}}\n":              `4:25: the file a is absent and has a text`,
		head + "    expect: {modelCalls: {atMost: 0}}\n":                            `4:35: here must be a whole number of 1 or more, and this is "0"`,
		head + "    expect: {modelCalls: 3}\n":                                      `4:26: modelCalls has fields of its own, and this is "3": write them below it, indented. They are atMost`,
		head + "    expect: {files: {x: {contains: []}}}\n":                         `4:36: the list is empty`,
		head + "    expect: {answer: {contains: [a, '']}}\n":                        `the text here must not be empty`,
		head + "    expect: {phase: done}\n":                                        `here must be one of cancelled, completed, failed and waiting`,
		head + "    expect: {answer: {equals: a, equals: b}}\n":                     `equals is given twice`,
		head + "    expect: {answer: {equals: 12}}\n":                               `4:31: here must be text, and this is "12": put it in quotes`,
		head + "    expect: {answer: {equals: {a: b}}}\n":                           `and this is a set of fields: put it in quotes`,
		head + "    schema: x\n":                                                    `4:13: a schema has fields, such as {type: object}, and this is "x"`,
		head + "    attach: x\n":                                                    `4:13: here must be a list, and this is "x"`,
		head + "    expect: {segmentLimit: }\n":                                     `and this is nothing`,
		head + "    expect: {files: [a]}\n":                                         `here must be names of files with what they hold, and this is a list`,
		head + "    expect: {tools: {name: x}}\n":                                   `here must be a list, and this is a set of fields`,
		head + "    expect: {answer: {contains: a}, answer: {contains: b}}\nx: y\n": `given twice`,
	} {
		_, err := read(t, text)
		var p *Problem
		if !errors.As(err, &p) {
			t.Errorf("%q is read: %v", text, err)
			continue
		}
		if said := fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Text); !strings.Contains(said, want) {
			t.Errorf("%q: %s\nwant %s", text, said, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(head + "    expect: {answer: {json: {a: [1, x]}}, tools: [{name: x, arguments: {a: 1}, result: {matches: x}}]}\n")
	f.Add(head + "workspace: {files: {a: b}, copy: c}\n")
	f.Fuzz(func(t *testing.T, text string) {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(text), &doc) != nil || len(doc.Content) != 1 {
			t.Skip("no YAML")
		}
		test, err := Read(doc.Content[0])
		var p *Problem
		switch {
		case err != nil && !errors.As(err, &p):
			t.Fatalf("%T: %v", err, err)
		case err != nil && (p.Line < 0 || p.Text == ""):
			t.Fatalf("%+v", p)
		case err != nil:
			return
		}
		for _, turn := range test.Turns {
			if _, err := turn.Expect.Judge(Outcome{Answer: text, Tools: []Done{{Name: "x", Arguments: text}}}, func(string) (string, bool, error) { return text, true, nil }); err != nil {
				t.Fatal(err)
			}
		}
	})
}
