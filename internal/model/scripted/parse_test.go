package scripted

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                                       "f.yaml: the script is empty",
		"# only words\n":                         "f.yaml: the script is empty",
		"null":                                   "f.yaml:1:1: a script must be a mapping of fields, not nothing",
		"[]":                                     "f.yaml:1:1: a script must be a mapping of fields, not a list",
		"a: [":                                   "f.yaml: the file is not valid YAML",
		"\t- x":                                  "f.yaml: the file is not valid YAML",
		"{}":                                     "needs `turns`",
		"steps: []":                              "f.yaml:1:8: the list is empty",
		"steps: [{}]\n---\n{}":                   "more than one document",
		"steps: [{}]\nturns: [{steps: [{}]}]":    "either `turns` or `steps`",
		"turns: [{}]":                            `f.yaml:1:9: a turn needs the field "steps"`,
		"steps:\n  - tex: hi":                    `f.yaml:2:5: a step has no field "tex". Did you mean "text"?`,
		"stepz: [{}]":                            `Did you mean "steps"?`,
		"steps:\n  - text: a\n    text: b":       `f.yaml:3:5: the field "text" is given twice`,
		"steps: [{text: 42}]":                    "f.yaml:1:16: here must be text, not \"42\": put it in quotes",
		"steps: [{text: [a]}]":                   "not a list",
		"steps: [{text: }]":                      "not nothing",
		"steps: [a]":                             `a step must be a mapping of fields, not "a"`,
		"steps: a":                               `here must be a list, not "a"`,
		"repeat: maybe\nsteps: [{}]":             "true or false",
		"steps: [{delay: 5}]":                    "a duration such as 50ms",
		"steps: [{delay: -5s}]":                  "a duration",
		"steps: [{delay: 2h}]":                   "at most 1h",
		"steps: [{chunk: 0}]":                    "a whole number of 1 or more",
		"steps: [{chunk: 1.5}]":                  "a whole number",
		"steps: [{chunk: 99999999999999999999}]": "a whole number",
		"steps: [{tools: [{args: {}}]}]":         `a tool call needs the field "name"`,
		"steps: [{tools: [{name: ''}]}]":         "must not be empty",
		"steps: [{tools: [{name: a, args: [1]}]}]":          "the arguments must be a mapping",
		"steps: [{tools: [{name: a, args: {x: .inf}}]}]":    "JSON cannot hold",
		"steps: [{tools: [{name: a, args: {[x]: 1}}]}]":     "a field's name must be text",
		"steps: [{tools: [{name: a, args: {x: 1, x: 2}}]}]": "given twice",
		"steps: [{error: {}}]":                              `an error needs the field "category"`,
		"steps: [{error: {category: ratelimited}}]":         `no error category is called "ratelimited". Did you mean "rate_limited"?`,
		"steps: [{error: {category: network, times: 0}}]":   "1 or more",
		"steps: [{error: {category: network}, hang: true}]": "always fails",
		"steps: [{usage: some}]":                            "usage must be a mapping",
		"steps: [{usage: {input: -1}}]":                     "0 or more",
		"turns: [{when: '(', steps: [{}]}]":                 "f.yaml:1:16: the regular expression is not valid",
		"steps: [{expect: {last_tool_contians: x}}]":        `Did you mean "last_tool_contains"?`,
		"steps: [{expect: {tools_offered: []}}]":            "the list is empty",
		"steps: &a [{tools: [{name: x, args: {y: *a}}]}]":   "nested more than",
	} {
		s, err := parse("f.yaml", []byte(text))
		f := fault.From(err)
		if err == nil || f.Code != fault.InvalidArgument || !strings.Contains(f.Message, says) {
			t.Errorf("parse(%q) = %v, %v, want %q", text, s, err, says)
		}
	}
}

// TestAliases: they work, and cannot make a small file large.
func TestAliases(t *testing.T) {
	t.Parallel()
	s, err := parse("f.yaml", []byte("turns:\n  - steps: &s [{text: a}]\n  - steps: *s\n"))
	if err != nil || len(s.turns) != 2 || s.turns[1].steps[0].text != "a" {
		t.Errorf("a script with an alias: %+v, %v", s, err)
	}
	var b strings.Builder
	b.WriteString("steps: [{tools: [{name: x, args: {a0: &a0 [1, 1]")
	for i := range 30 {
		fmt.Fprintf(&b, ", a%d: &a%d [*a%d, *a%d]", i+1, i+1, i, i)
	}
	b.WriteString("}}]}]")
	if _, err := parse("f.yaml", []byte(b.String())); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a script of aliases of aliases: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"steps: [{text: hi}]", "turns:\n - when: x\n   steps:\n    - error: {category: network, times: 2}\n      tools: [{name: a, args: {b: [1, .5, ~, 0x1F, 2001-01-01]}}]",
		"a: &a [*a]", "? [x]\n: y", "steps: !!binary x", "<<: {steps: [{}]}", "%YAML 1.1\n---\n{}", "steps: [{delay: 1ms, chunk: 3, usage: none}]", "\xff", "{{{",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parse("f.yaml", data)
		if err == nil && (len(s.turns) == 0 || len(s.turns[0].steps) == 0) {
			t.Errorf("%q gives a script without steps", data)
		}
		if err != nil && fault.ReasonOf(err) != "SCRIPT_INVALID" {
			t.Errorf("%q gives %v", data, err)
		}
	})
}
