package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
)

// keywords are what the API takes of JSON Schema. The value says what stands under a
// keyword.
var keywords = map[string]under{
	"$id": values, "$ref": values, "$anchor": values, "type": values, "format": values, "title": values, "description": values,
	"enum": values, "minItems": values, "maxItems": values, "minimum": values, "maximum": values, "required": values,
	"propertyOrdering": values, "nullable": values, "pattern": values, "minLength": values, "maxLength": values,
	"minProperties": values, "maxProperties": values, "default": values,
	"items": schema, "additionalProperties": schema,
	"prefixItems": schemas, "anyOf": schemas, "oneOf": schemas,
	"properties": named, "$defs": named,
}

// under is what stands under a keyword.
type under int

const (
	values  under = iota + 1 // nothing to look into
	schema                   // a schema, or true or false
	schemas                  // a list of schemas
	named                    // schemas by name
)

// reduced is a schema without what the API does not take: other keywords are left
// out, which loosens the schema; a const becomes an enum of one, and definitions get
// the newer name; what stands beside a $ref is left out too. Order is kept, since the model answers in it. What is no JSON
// becomes the schema of everything.
func reduced(raw json.RawMessage) json.RawMessage {
	out := bytes.Buffer{}
	if !json.Valid(raw) || json.Compact(&out, reduce(raw)) != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return out.Bytes()
}

// reduce looks through one schema. Beside a $ref nothing else may say something.
func reduce(raw json.RawMessage) json.RawMessage {
	var refers struct {
		To *string `json:"$ref"`
	}
	alone := json.Unmarshal(raw, &refers) == nil && refers.To != nil
	return members(raw, func(name string, value json.RawMessage) (string, json.RawMessage, bool) {
		switch name {
		case "const":
			return "enum", json.RawMessage("[" + string(value) + "]"), true
		case "definitions":
			name = "$defs"
		case "$ref":
			value = bytes.Replace(value, []byte("#/definitions/"), []byte("#/$defs/"), 1)
		}
		if alone && !strings.HasPrefix(name, "$") {
			return "", nil, false
		}
		switch keywords[name] {
		case values:
			return name, value, true
		case schema:
			return name, reduce(value), true
		case schemas:
			return name, list(value, reduce), true
		case named:
			return name, members(value, func(n string, v json.RawMessage) (string, json.RawMessage, bool) { return n, reduce(v), true }), true
		}
		return "", nil, false
	})
}

// members goes through the members of an object in order. What is no object stays.
func members(raw json.RawMessage, each func(string, json.RawMessage) (string, json.RawMessage, bool)) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return raw
	}
	out := []byte{'{'}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return raw
		}
		name, value, keep := each(name, value)
		if !keep {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			return raw
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), value...)
	}
	return append(out, '}')
}

// list goes through the elements of a list. What is no list stays.
func list(raw json.RawMessage, each func(json.RawMessage) json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return raw
	}
	for i, one := range all {
		all[i] = each(one)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return raw
	}
	return data
}
