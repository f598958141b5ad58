package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// schemas writes one JSON Schema (2020-12) per declared kind: per top-level
// message with api_version, kind, metadata and spec that clients make. Editors check and complete
// resource files with them.
func schemas(src *sources, out output) error {
	for _, f := range src.own {
		for i := range f.Messages().Len() {
			m := f.Messages().Get(i)
			if !isResource(m) || !isDeclared(f) {
				continue
			}
			doc, err := schemaDocument(m)
			if err != nil {
				return err
			}
			name := strings.ToLower(string(m.Name()))
			if err := out.put("schema/"+name+".schema.json", doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// isResource tells whether m has the fields of the envelope.
func isResource(m protoreflect.MessageDescriptor) bool {
	for _, name := range []protoreflect.Name{"api_version", "kind", "metadata", "spec"} {
		if m.Fields().ByName(name) == nil {
			return false
		}
	}
	return true
}

// isDeclared tells whether clients make what f describes; the server alone makes
// the rest, and no file of a person ever holds it.
func isDeclared(f protoreflect.FileDescriptor) bool {
	for i := range f.Services().Len() {
		methods := f.Services().Get(i).Methods()
		for _, name := range []protoreflect.Name{"Create", "Apply"} {
			if m := methods.ByName(name); m != nil && carriesResource(m.Input()) {
				return true
			}
		}
	}
	return false
}

// carriesResource tells whether a request holds a whole resource.
func carriesResource(m protoreflect.MessageDescriptor) bool {
	for i := range m.Fields().Len() {
		if below := m.Fields().Get(i).Message(); below != nil && isResource(below) {
			return true
		}
	}
	return false
}

// schemaDocument renders m's schema with every message that it reaches under $defs.
func schemaDocument(m protoreflect.MessageDescriptor) ([]byte, error) {
	b := schemaBuilder{defs: object{}}
	root := b.message(m)
	doc := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://cadre.dev/schema/" + strings.ToLower(string(m.Name())) + ".schema.json",
		"title":   string(m.Name()),
	}
	for k, v := range root {
		doc[k] = v
	}
	if len(b.defs) > 0 {
		doc["$defs"] = b.defs
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(doc) // the encoder sorts keys
	return text.Bytes(), err
}

// object is a JSON object.
type object map[string]any

// schemaBuilder collects the schemas of nested messages and enums.
type schemaBuilder struct {
	defs object
}

// message returns the schema of m's own fields.
func (b *schemaBuilder) message(m protoreflect.MessageDescriptor) object {
	properties := object{}
	var required []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		property, needed := b.field(f)
		properties[f.JSONName()] = property
		if needed {
			required = append(required, f.JSONName())
		}
	}
	s := object{"type": "object", "additionalProperties": false}
	if len(properties) > 0 {
		s["properties"] = properties
	}
	if len(required) > 0 {
		s["required"] = required
	}
	describe(s, m)
	return s
}

// field returns f's schema and whether a file must have it.
func (b *schemaBuilder) field(f protoreflect.FieldDescriptor) (object, bool) {
	rules := rulesOf(f)
	var s object
	switch {
	case f.IsMap():
		s = object{"type": "object", "additionalProperties": b.value(f.MapValue(), rules.GetMap().GetValues())}
		applyMap(s, rules.GetMap())
	case f.IsList():
		s = object{"type": "array", "items": b.value(f, rules.GetRepeated().GetItems())}
		applyRepeated(s, rules.GetRepeated())
	default:
		s = b.value(f, rules)
	}
	describe(s, f)
	return s, isRequired(rules)
}

// describe adds the comment above d, when there is one.
func describe(s object, d protoreflect.Descriptor) {
	if c := comment(d); c != "" {
		s["description"] = c
	}
}

// comment returns the comment above d without its markers and line breaks.
func comment(d protoreflect.Descriptor) string {
	text := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
	return strings.Join(strings.Fields(text), " ")
}
