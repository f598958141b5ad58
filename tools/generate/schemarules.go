package main

import (
	"slices"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// rulesOf returns f's validation rules, or nil.
func rulesOf(f protoreflect.FieldDescriptor) *validate.FieldRules {
	if !proto.HasExtension(f.Options(), validate.E_Field) {
		return nil
	}
	return proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
}

// isRequired tells whether a value that is absent, and so empty, breaks the rules.
func isRequired(r *validate.FieldRules) bool {
	if r.GetIgnore() != validate.Ignore_IGNORE_UNSPECIFIED {
		return false
	}
	s := r.GetString()
	return r.GetRequired() || s.GetMinLen() > 0 || s.GetMinBytes() > 0 || s.GetConst() != "" ||
		(len(s.GetIn()) > 0 && !slices.Contains(s.GetIn(), "")) || r.GetRepeated().GetMinItems() > 0
}

// applyString adds what JSON Schema can say of string rules. Lengths in bytes
// stay with the server: a character may have several.
func applyString(s object, r *validate.StringRules) {
	if r == nil {
		return
	}
	if r.HasConst() {
		s["const"] = r.GetConst()
	}
	if r.GetMinLen() > 0 {
		s["minLength"] = r.GetMinLen()
	}
	if r.HasMaxLen() {
		s["maxLength"] = r.GetMaxLen()
	}
	if r.HasLen() {
		s["minLength"], s["maxLength"] = r.GetLen(), r.GetLen()
	}
	if r.HasPattern() {
		s["pattern"] = r.GetPattern()
	}
	if len(r.GetIn()) > 0 {
		s["enum"] = r.GetIn()
	}
}

// applyNumber adds the bounds of 32-bit and floating-point numbers.
func applyNumber(s object, r *validate.FieldRules) {
	if r == nil {
		return
	}
	oneof := r.ProtoReflect().Descriptor().Oneofs().ByName("type")
	set := r.ProtoReflect().WhichOneof(oneof)
	if set == nil || set.Message() == nil {
		return
	}
	words := map[protoreflect.Name]string{
		"gte": "minimum", "gt": "exclusiveMinimum", "lte": "maximum", "lt": "exclusiveMaximum",
	}
	r.ProtoReflect().Get(set).Message().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		word, ok := words[f.Name()]
		if ok && s["type"] != "string" {
			s[word] = v.Interface()
		}
		return true
	})
}

// applyRepeated adds the rules of a list as a whole.
func applyRepeated(s object, r *validate.RepeatedRules) {
	if r == nil {
		return
	}
	if r.GetMinItems() > 0 {
		s["minItems"] = r.GetMinItems()
	}
	if r.HasMaxItems() {
		s["maxItems"] = r.GetMaxItems()
	}
	if r.GetUnique() {
		s["uniqueItems"] = true
	}
}

// applyMap adds the rules of a map as a whole and of its keys.
func applyMap(s object, r *validate.MapRules) {
	if r == nil {
		return
	}
	if r.GetMinPairs() > 0 {
		s["minProperties"] = r.GetMinPairs()
	}
	if r.HasMaxPairs() {
		s["maxProperties"] = r.GetMaxPairs()
	}
	keys := object{}
	applyString(keys, r.GetKeys().GetString())
	if len(keys) > 0 {
		s["propertyNames"] = keys
	}
}
