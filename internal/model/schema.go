package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// StrictSchema tells whether a JSON Schema is of the strict dialect, to which OpenAI
// and those who follow it hold an answer, and which they check before they begin: a
// schema that is not so must be sent as one that is not strict. Every object names its
// properties, requires them all and allows no others; every schema has a type or is an
// anyOf; there are no other keywords and formats than theirs (so no patternProperties,
// oneOf, allOf or default); a $ref stands alone and points into the schema; nothing is
// nested deeper than ten levels.
func StrictSchema(raw json.RawMessage) bool {
	var v map[string]any
	return json.Unmarshal(raw, &v) == nil && v["type"] == "object" && v["anyOf"] == nil && strictNode(v, 0)
}

// deepest is how deep a strict schema nests.
const deepest = 10

// The keywords of the strict dialect that have no schema below them, and its formats.
var (
	strictKeywords = []string{
		"$schema", "type", "title", "description", "enum", "const", "format", "pattern", "multipleOf", "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "required", "additionalProperties",
	}
	strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

// strictNode judges one schema.
func strictNode(of any, depth int) bool {
	s, ok := of.(map[string]any)
	if !ok || depth > deepest {
		return false
	}
	if to, ok := s["$ref"].(string); ok {
		return len(s) == 1 && strings.HasPrefix(to, "#")
	}
	if s["type"] == nil && s["anyOf"] == nil || !strictObject(s) {
		return false
	}
	for name, value := range s {
		if !strictMember(name, value, depth) {
			return false
		}
	}
	return true
}

// strictMember judges one keyword of a schema and the schemas below it.
func strictMember(name string, value any, depth int) bool {
	switch name {
	case "properties", "$defs", "definitions":
		named, ok := value.(map[string]any)
		for _, one := range named {
			ok = ok && strictNode(one, depth+1)
		}
		return ok
	case "anyOf":
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(one any) bool { return !strictNode(one, depth+1) })
	case "items":
		return strictNode(value, depth+1)
	case "format":
		word, _ := value.(string)
		return slices.Contains(strictFormats, word)
	}
	return slices.Contains(strictKeywords, name)
}

// strictObject judges what a schema says of objects; what is no object's is fine.
func strictObject(s map[string]any) bool {
	kinds, _ := s["type"].([]any)
	if s["type"] != "object" && !slices.Contains(kinds, any("object")) {
		return true
	}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return s["additionalProperties"] == false
}

// AskForSchema adds to instructions that the answer keeps to a schema, for a provider
// that cannot hold it to that one. The model may still depart from it.
func AskForSchema(instructions string, schema json.RawMessage) string {
	if instructions != "" {
		instructions += "\n\n"
	}
	return instructions + "Answer with one JSON object that keeps to this JSON Schema:\n" + string(schema)
}
