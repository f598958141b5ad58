package model

import (
	"encoding/json"
	"slices"
)

// StrictSchema tells whether every object that a JSON Schema describes names its
// properties, requires them all and allows no others. Providers that can hold an
// answer to a schema strictly want that, and refuse a schema that is not so.
func StrictSchema(raw json.RawMessage) bool {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return false
	}
	top, ok := v.(map[string]any)
	return ok && top["type"] == "object" && strictNode(v)
}

func strictNode(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !strictNode(one) })
	case map[string]any:
		if !strictObject(v) {
			return false
		}
		for name, one := range v {
			if name == "enum" || name == "const" || name == "default" || name == "examples" {
				continue // values, no schemas
			}
			if !strictNode(one) {
				return false
			}
		}
	}
	return true
}

// strictObject judges one schema; what is no object's is fine.
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
