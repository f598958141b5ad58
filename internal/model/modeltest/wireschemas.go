package modeltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// loose are schemas that no strict dialect holds; each has the field `answer`.
var loose = map[string]string{
	"PatternProperties": `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false,"patternProperties":{"^x-":{"type":"string"}}}`,
	"OneOfRefs": `{"type":"object","properties":{"answer":{"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}},"required":["answer"],"additionalProperties":false,"$defs":{` +
		`"a":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false},` +
		`"b":{"type":"object","properties":{"y":{"type":"integer"}},"required":["y"],"additionalProperties":false}}}`,
	"MoreProperties": `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":true}`,
	"Dictionary":     `{"type":"object","properties":{"answer":{"type":"object","additionalProperties":{"type":"number"}}},"required":["answer"],"additionalProperties":false}`,
	"Optional":       `{"type":"object","properties":{"answer":{"type":"string"},"b":{"type":"string"}},"required":["answer"],"additionalProperties":false}`,
	"Limits":         `{"type":"object","properties":{"answer":{"type":"string","minLength":2,"default":"ab"}},"required":["answer"],"additionalProperties":false}`,
	"RefAndMore":     `{"type":"object","properties":{"answer":{"$ref":"#/$defs/a","description":"the answer"}},"required":["answer"],"additionalProperties":false,"$defs":{"a":{"type":"string"}}}`,
	"Anything":       `{"type":"object","properties":{"answer":{}},"required":["answer"],"additionalProperties":false}`,
	"NoType":         `{"properties":{"answer":{"type":"string"}},"not":{"required":["b"]}}`,
}

// testSchemas: a schema that a strict dialect cannot hold is sent in another form, or
// asked for in words; it does not make the request fail. Read judges what is sent.
func testSchemas(t *testing.T, w Wire) {
	for name, schema := range loose {
		m, s := w.serve(t, func(int) reply { return reply{pieces: pieces(w.Answer(sample))} })
		req := request()
		req.Schema = json.RawMessage(schema)
		ask(t.Context(), t, m, req).whole(t)
		q := s.questions()[0]
		inWords := q.Instructions != req.Instructions
		switch {
		case inWords && (!strings.HasPrefix(q.Instructions, req.Instructions) || !strings.Contains(q.Instructions, schema)):
			t.Errorf("%s: the instructions are %q", name, q.Instructions)
		case inWords == (len(q.Schema) > 0):
			t.Errorf("%s: the schema is %s, and the instructions are %q", name, q.Schema, q.Instructions)
		case !inWords && !strings.Contains(string(q.Schema), `"answer"`):
			t.Errorf("%s: the schema is %s", name, q.Schema)
		case q.Strict:
			t.Errorf("%s: the schema is called strict: %s", name, q.Schema)
		}
	}
}

// Keywords judges a schema of a request, for Read: it wants no keywords but those
// given, a $ref alone, and, where closed is set, objects that allow no other fields.
func Keywords(raw json.RawMessage, known []string, closed bool) error {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	return keywords(v, known, closed)
}

func keywords(of any, known []string, closed bool) error {
	s, ok := of.(map[string]any)
	switch {
	case !ok && closed:
		return fmt.Errorf("%v is no schema that closes anything", of)
	case !ok:
		return nil // true or false
	case closed && s["type"] == "object" && s["additionalProperties"] != false:
		return fmt.Errorf("the object %v is not closed", s)
	case s["$ref"] != nil && len(s) > 1:
		return fmt.Errorf("beside a $ref stands more: %v", s)
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the keyword %s is not known", name)
		}
		for _, below := range schemasBelow(name, s[name]) {
			if err := keywords(below, known, closed && name != "additionalProperties"); err != nil {
				return err
			}
		}
	}
	return nil
}

// schemasBelow are the schemas that stand under a keyword.
func schemasBelow(name string, value any) []any {
	switch v := value.(type) {
	case map[string]any:
		switch name {
		case "properties", "$defs":
			return slices.Collect(maps.Values(v))
		case "items", "additionalProperties":
			return []any{v}
		}
	case []any:
		if strings.HasSuffix(name, "Of") || name == "prefixItems" {
			return v
		}
	}
	return nil
}
