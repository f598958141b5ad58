package anthropic

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
)

// formless are the beginnings of ids whose models are from before the API could hold
// an answer to a schema: they refuse one.
var formless = []string{
	"claude-2", "claude-instant", "claude-3", "claude-sonnet-4-0", "claude-sonnet-4-2", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2",
}

// accepted is a schema as the API takes it for a model; false when the model takes
// none, and for a schema that the API cannot hold an answer to in any form, such as an
// object whose fields have no known names. Objects get closed, a oneOf becomes an
// anyOf, and what the API cannot judge, such as a least length, becomes part of a
// description. A schema that is so already keeps its bytes and so the order of its
// fields.
func accepted(id string, schema json.RawMessage) (json.RawMessage, bool) {
	if slices.ContainsFunc(formless, func(p string) bool { return strings.HasPrefix(id, p) }) {
		return nil, false
	}
	var before map[string]any
	if json.Unmarshal(schema, &before) != nil {
		return schema, true // no JSON: the API says what it thinks of it
	}
	if held(before) {
		return schema, true
	}
	after, _ := sdk.BetaJSONSchemaOutputFormat(before).Schema.(map[string]any)
	if len(after) == 0 || !held(after) {
		return nil, false
	}
	if reflect.DeepEqual(before, after) {
		return schema, true
	}
	data, err := json.Marshal(after)
	return data, err == nil
}

// The API's keywords that have no schema below them, and its formats.
var (
	valueKeywords = []string{"type", "title", "description", "enum", "const", "required", "additionalProperties", "pattern"}
	formats       = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)

// held tells whether the API can hold an answer to a schema as it is: it knows all the
// keywords, every object is closed, and each schema says what it is about.
func held(of any) bool {
	s, ok := of.(map[string]any)
	if !ok {
		return false
	}
	kinds, _ := s["type"].([]any)
	if (s["type"] == "object" || slices.Contains(kinds, any("object"))) && s["additionalProperties"] != false {
		return false
	}
	if to, ok := s["$ref"].(string); ok {
		return strings.HasPrefix(to, "#") && len(s) == 1
	}
	for name, value := range s {
		if !heldMember(name, value) {
			return false
		}
	}
	return s["type"] != nil || s["anyOf"] != nil || s["allOf"] != nil || s["enum"] != nil || s["const"] != nil
}

func heldMember(name string, value any) bool {
	switch name {
	case "properties", "$defs":
		named, ok := value.(map[string]any)
		for _, one := range named {
			ok = ok && held(one)
		}
		return ok
	case "anyOf", "allOf":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(one any) bool { return !held(one) })
	case "items":
		return held(value)
	case "minItems":
		return value == 0.0 || value == 1.0
	case "format":
		word, _ := value.(string)
		return slices.Contains(formats, word)
	}
	return slices.Contains(valueKeywords, name)
}
