package scripted

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/cadre-dev/cadre/internal/model"
)

func reference(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func schema(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(reference(t, "scripted-model.schema.json"), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &s, r
}

// TestSchemaFields: the schema, the page and the reader know the same fields.
func TestSchemaFields(t *testing.T) {
	t.Parallel()
	s, _ := schema(t)
	page := string(reference(t, "scripted-model.md"))
	for name, c := range map[string]struct {
		schema *jsonschema.Schema
		reader table
	}{
		"script":     {s, new(script).fields(nil)},
		"turn":       {s.Defs["turn"], new(turn).fields()},
		"step":       {s.Defs["step"], new(step).fields()},
		"tool":       {s.Defs["tool"], new(toolCall).fields()},
		"usage":      {s.Defs["usage"], new(usage).fields()},
		"error":      {s.Defs["error"], new(failure).fields()},
		"expect":     {s.Defs["expect"], new(expectation).fields()},
		"compaction": {s.Defs["compaction"], new(compaction).fields()},
		"remote":     {s.Defs["remote"], new(remote).fields()},
	} {
		got, want := slices.Sorted(maps.Keys(c.schema.Properties)), slices.Sorted(maps.Keys(c.reader))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, the reader %q", name, got, want)
		}
		for _, field := range want {
			if !strings.Contains(page, "`"+field+"`") {
				t.Errorf("%s: the page does not tell of %s", name, field)
			}
		}
	}
	var categories []any
	for _, c := range model.Categories() {
		categories = append(categories, string(c))
		if !strings.Contains(page, "`"+string(c)+"`") {
			t.Errorf("the page does not tell of the category %s", c)
		}
	}
	if got := s.Defs["error"].Properties["category"].Enum; !slices.Equal(got, categories) {
		t.Errorf("the schema has the categories %q, want %q", got, categories)
	}
}

// TestExamples: what the page shows is valid for the reader and for the schema.
func TestExamples(t *testing.T) {
	t.Parallel()
	_, resolved := schema(t)
	found := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(reference(t, "scripted-model.md")), -1)
	if len(found) < 5 {
		t.Fatalf("the page has %d examples", len(found))
	}
	for _, m := range found {
		agrees(t, resolved, m[1], true)
	}
}

// TestSchemaAgrees: what one refuses the other does too.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	_, resolved := schema(t)
	for _, text := range []string{
		"steps: [{}]", "repeat: true\nturns: [{when: x, steps: [{text: ''}]}]", "steps: [{usage: none}, {usage: {input: 0}}]",
		"steps: [{delay: 1m30s, chunk_delay: '0', chunk: 1, finish: x}]", "steps: [{tools: [{name: a, args: '{'}]}]",
		"window: 1\ncompaction: {text: x, recoverable: true, remote: {feature: a, implementation: b}}\nsteps: [{}]", "compaction: {}\nsteps: [{}]",
	} {
		agrees(t, resolved, text, true)
	}
	for _, text := range []string{
		"{}", "steps: []", "turns: [{}]", "steps: [{}]\nturns: [{steps: [{}]}]", "steps: [{x: 1}]", "steps: [{text: 1}]", "steps: [{chunk: 0}]",
		"steps: [{delay: 5}]", "steps: [{delay: 5x}]", "steps: [{tools: []}]", "steps: [{tools: [{}]}]", "steps: [{tools: [{name: a, args: [1]}]}]",
		"steps: [{error: {}}]", "steps: [{error: {category: x}}]", "steps: [{error: {category: network, times: 0}}]", "steps: [{usage: x}]",
		"steps: [{usage: {input: -1}}]", "steps: [{finish: ''}]", "window: 0\nsteps: [{}]", "compaction: {tools: []}\nsteps: [{}]", "compaction: {remote: {feature: a}}\nsteps: [{}]", "steps: [{expect: {tools_offered: []}}]", "steps: [{hang: 1}]",
	} {
		agrees(t, resolved, text, false)
	}
}

func agrees(t *testing.T, resolved *jsonschema.Resolved, text string, want bool) {
	t.Helper()
	_, err := parse("f.yaml", []byte(text))
	if (err == nil) != want {
		t.Errorf("the reader says %v of\n%s", err, text)
	}
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(v); (err == nil) != want {
		t.Errorf("the schema says %v of\n%s", err, text)
	}
}
