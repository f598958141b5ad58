package main

import (
	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// scalarTypes are the JSON forms of scalar kinds that need no more words.
var scalarTypes = map[protoreflect.Kind]string{
	protoreflect.BoolKind:     "boolean",
	protoreflect.StringKind:   "string",
	protoreflect.FloatKind:    "number",
	protoreflect.DoubleKind:   "number",
	protoreflect.Int32Kind:    "integer",
	protoreflect.Sint32Kind:   "integer",
	protoreflect.Sfixed32Kind: "integer",
	protoreflect.Uint32Kind:   "integer",
	protoreflect.Fixed32Kind:  "integer",
}

// value returns the schema of one value of f: the field itself, an item of its
// list, or a value of its map.
func (b *schemaBuilder) value(f protoreflect.FieldDescriptor, rules *validate.FieldRules) object {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return b.messageRef(f.Message())
	case protoreflect.EnumKind:
		return b.enumRef(f.Enum())
	case protoreflect.BytesKind:
		return object{"type": "string", "contentEncoding": "base64"}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind,
		protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		// protobuf writes 64-bit numbers as strings and reads both.
		return object{"type": []string{"integer", "string"}, "pattern": "^-?[0-9]+$"}
	}
	s := object{"type": scalarTypes[f.Kind()]}
	applyString(s, rules.GetString())
	applyNumber(s, rules)
	return s
}

// wellKnown are messages with a JSON form of their own.
var wellKnown = map[protoreflect.FullName]object{
	"google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
	"google.protobuf.Duration":  {"type": "string", "pattern": `^-?[0-9]+(\.[0-9]{1,9})?s$`},
	"google.protobuf.Struct":    {"type": "object"},
	"google.protobuf.Value":     {},
	"google.protobuf.ListValue": {"type": "array"},
	"google.protobuf.FieldMask": {"type": "string"},
	"google.protobuf.Empty":     {"type": "object", "additionalProperties": false},
}

// messageRef points at m's schema under $defs and adds it there once.
func (b *schemaBuilder) messageRef(m protoreflect.MessageDescriptor) object {
	if s, ok := wellKnown[m.FullName()]; ok {
		own := object{}
		for k, v := range s {
			own[k] = v
		}
		return own
	}
	name := string(m.FullName())
	if _, known := b.defs[name]; !known {
		b.defs[name] = object{} // a message may hold itself
		b.defs[name] = b.message(m)
	}
	return object{"$ref": "#/$defs/" + name}
}

// enumRef points at e's schema under $defs and adds it there once. The value
// zero means "not given" and is not offered.
func (b *schemaBuilder) enumRef(e protoreflect.EnumDescriptor) object {
	name := string(e.FullName())
	if _, known := b.defs[name]; !known {
		var values []string
		for i := range e.Values().Len() {
			if v := e.Values().Get(i); v.Number() != 0 {
				values = append(values, string(v.Name()))
			}
		}
		s := object{"type": "string", "enum": values}
		describe(s, e)
		b.defs[name] = s
	}
	return object{"$ref": "#/$defs/" + name}
}
