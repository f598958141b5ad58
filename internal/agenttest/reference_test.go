package agenttest

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
)

func reference(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(reference(t, "agent-test.schema.json"), &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// The schema, the page and the reader know the same fields.
func TestSchemaFields(t *testing.T) {
	t.Parallel()
	s := schema(t)
	page := string(reference(t, "agent-tests.md"))
	for name, c := range map[string]struct {
		schema *jsonschema.Schema
		reader table
	}{
		"test":      {s, new(Test).fields()},
		"workspace": {s.Properties["workspace"], new(Workspace).fields()},
		"turn":      {s.Defs["turn"], new(Turn).fields()},
		"expect":    {s.Defs["expect"], new(Expect).fields()},
		"text":      {s.Defs["text"], new(Text).fields()},
		"call":      {s.Defs["call"], new(Call).fields()},
		"file":      {s.Defs["file"], new(File).fields()},
	} {
		got, want := slices.Sorted(maps.Keys(c.schema.Properties)), slices.Sorted(maps.Keys(c.reader))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, the reader %q", name, got, want)
		}
		for _, field := range want {
			if !strings.Contains(page, "`"+field) {
				t.Errorf("%s: the page does not tell of %s", name, field)
			}
		}
	}
}

// What the page shows, and what the examples are, is valid for reader and schema; what
// the reader refuses for its form, the schema refuses as well.
func TestReaderAndSchemaAgree(t *testing.T) {
	t.Parallel()
	resolved, err := schema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]string{}
	for i, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(reference(t, "agent-tests.md"), -1) {
		good["block "+string(rune('1'+i))] = string(m[1])
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "tests", "*"+Suffix))
	if err != nil || len(files) == 0 || len(good) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		good[file] = string(data)
	}
	for name, text := range good {
		if _, err := read(t, text); err != nil {
			t.Errorf("%s: the reader says %v", name, err)
		}
		if err := resolved.Validate(instance(t, text)); err != nil {
			t.Errorf("%s: the schema says %v", name, err)
		}
	}
	for _, text := range []string{
		"agent: a\n", "turns: [{say: a}]\n", "agent: a\nturns: []\n", head + "x: y\n", head + "approve: ask\n", head + "workspace: {file: {}}\n",
		head + "    expect: {answer: {}}\n", head + "    expect: {answer: {json: null}}\n", head + "    expect: {tools: [{}]}\n",
		head + "    expect: {files: {a: {absent: false}}}\n", head + "    expect: {modelCalls: {atMost: 0}}\n", head + "    expect: {answer: {contains: []}}\n",
	} {
		if _, err := read(t, text); err == nil {
			t.Errorf("the reader takes %q", text)
		}
		if err := resolved.Validate(instance(t, text)); err == nil {
			t.Errorf("the schema takes %q", text)
		}
	}
}

func instance(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
