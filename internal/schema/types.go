package schema

import (
	"encoding/json"
	"slices"
)

// types are the words that `type` may hold. The validator would let others pass
// and then accept nothing.
var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// Keywords whose value is a schema, a list of schemas, or schemas by name.
var (
	oneSchema  = []string{"items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	manySchema = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	mapSchema  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// unknownType finds a word that is no type; "" when there is none.
func unknownType(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return ""
	}
	return typesIn(v)
}

func typesIn(v any) string {
	s, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	words, _ := s["type"].([]any)
	if one, ok := s["type"].(string); ok {
		words = append(words, one)
	}
	for _, w := range words {
		if word, ok := w.(string); ok && !slices.Contains(types, word) {
			return word
		}
	}
	for _, below := range schemasIn(s) {
		if word := typesIn(below); word != "" {
			return word
		}
	}
	return ""
}

// schemasIn are the schemas right inside one.
func schemasIn(s map[string]any) []any {
	var all []any
	for _, k := range oneSchema {
		all = append(all, s[k])
	}
	for _, k := range manySchema {
		list, _ := s[k].([]any)
		all = append(all, list...)
	}
	for _, k := range mapSchema {
		named, _ := s[k].(map[string]any)
		for _, below := range named {
			all = append(all, below)
		}
	}
	return all
}
