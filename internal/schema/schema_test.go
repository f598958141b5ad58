package schema_test

import (
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/schema"
)

const person = `{"type":"object","properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer"},"tags":{"type":"array","items":{"enum":["a","b"]}}},
"required":["name"],"additionalProperties":false}`

func TestCheck(t *testing.T) {
	t.Parallel()
	s, err := schema.Parse(person)
	if err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		`{"name":"Ada","age":36,"tags":["a"]}`: "",
		" {\"name\":\"Ada\"}\n":                "",
		`{"age":36}`:                           "name",
		`{"name":""}`:                          "minLength",
		`{"name":"Ada","age":1.5}`:             "age",
		`{"name":"Ada","tags":["c"]}`:          "tags",
		`{"name":"Ada","more":1}`:              "more",
		`["Ada"]`:                              "array",
		`{"name":"Ada"`:                        "too early",
		`{"name":"Ada"} {}`:                    "follows",
		"```json\n{\"name\":\"Ada\"}\n```":     "no valid JSON",
		"":                                     "too early",
	} {
		err := s.Check(text)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s gives %v, want %q", text, err, says)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                  "too early",
		"{":                 "no valid JSON",
		`{"type":"array"}`:  "object",
		`{}`:                "object",
		`true`:              "object",
		`{"type":"objekt"}`: "object",
		`{"type":"object","properties":{"a":{"type":"strin"}}}`:                      "strin",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`:               "none",
		`{"type":"object","properties":{"a":{"$ref":"https://example.org/a.json"}}}`: "example.org",
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                       "(",
		`{"type":"object","title":"` + strings.Repeat("x", schema.MostBytes) + `"}`:  "bytes",
	} {
		_, err := schema.Parse(text)
		if fault.ReasonOf(err) != "OUTPUT_SCHEMA_INVALID" || !strings.Contains(err.Error(), says) {
			t.Errorf("%.80s gives %v, want %q", text, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(person, `{"name":"Ada"}`)
	f.Fuzz(func(t *testing.T, text, answer string) {
		if s, err := schema.Parse(text); err == nil {
			_ = s.Check(answer)
		}
	})
}
