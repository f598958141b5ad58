package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cadre-dev/cadre/internal/near"
)

// shape compares a file's nodes with what the contract expects and collects what
// does not fit: fields that nobody knows, fields given twice, values of another
// type. What it lets through, the decoder can read.
type shape struct {
	*source
	found problems
}

func (s *shape) add(n *yaml.Node, format string, args ...any) {
	s.found = append(s.found, s.at(n.Line, n.Column, format, args...))
}

// message checks a mapping against a message's fields. name is what people call it.
func (s *shape) message(n *yaml.Node, d protoreflect.MessageDescriptor, name string) {
	if isNull(n) || strings.HasPrefix(string(d.FullName()), "google.protobuf.") {
		return // null is unset, and the decoder knows the well-known types
	}
	names := fieldNames(d)
	if n.Kind != yaml.MappingNode {
		s.add(n, "%s has fields of its own, and this is %s: write them below it, indented. They are %s", name, said(n), strings.Join(names, ", "))
		return
	}
	seen := map[protoreflect.FieldNumber]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		fd := fieldOf(d, key.Value)
		switch {
		case fd == nil:
			s.add(key, "unknown field %q; %s has %s.%s", key.Value, name, strings.Join(names, ", "), near.Hint(key.Value, names))
			continue
		case seen[fd.Number()] != nil:
			s.add(key, "%s is given twice, first on line %d: remove one of them", fd.JSONName(), seen[fd.Number()].Line)
			continue
		}
		seen[fd.Number()] = key
		s.field(value, fd)
	}
}

func (s *shape) field(v *yaml.Node, fd protoreflect.FieldDescriptor) {
	switch {
	case isNull(v):
	case fd.IsMap() && v.Kind != yaml.MappingNode:
		s.add(v, "%s is a set of names with values, and this is %s: write `name: value` lines below it, indented", fd.JSONName(), said(v))
	case fd.IsMap():
		s.entries(v, fd)
	case fd.IsList() && v.Kind != yaml.SequenceNode:
		example := "[a, b]"
		if v.Kind == yaml.ScalarNode {
			example = "[" + v.Value + "]"
		}
		s.add(v, "%s is a list, and this is %s: write %s", fd.JSONName(), said(v), example)
	case fd.IsList():
		for _, item := range v.Content {
			s.value(item, fd, "an item of "+fd.JSONName())
		}
	default:
		s.value(v, fd, fd.JSONName())
	}
}

func (s *shape) entries(n *yaml.Node, fd protoreflect.FieldDescriptor) {
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if first := seen[key.Value]; first != nil {
			s.add(key, "%s is given twice, first on line %d: remove one of them", key.Value, first.Line)
			continue
		}
		seen[key.Value] = key
		s.value(n.Content[i+1], fd.MapValue(), key.Value)
	}
}

// value checks one value that is no list and no map.
func (s *shape) value(v *yaml.Node, fd protoreflect.FieldDescriptor, name string) {
	if fd.Message() != nil {
		s.message(v, fd.Message(), name)
		return
	}
	scalar := v.Kind == yaml.ScalarNode
	switch fd.Kind() {
	case protoreflect.StringKind:
		s.text(v, name)
	case protoreflect.BoolKind:
		if !scalar || v.Value != "true" && v.Value != "false" {
			s.add(v, "%s is true or false, and this is %s", name, said(v))
		}
	case protoreflect.EnumKind:
		s.enum(v, fd.Enum(), name)
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		if _, err := strconv.ParseInt(v.Value, 0, 64); !scalar || err != nil {
			s.add(v, "%s is a whole number, and this is %s: write digits, such as 10", name, said(v))
		}
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		if _, err := strconv.ParseUint(v.Value, 0, 64); !scalar || err != nil {
			s.add(v, "%s is a whole number that is not negative, and this is %s: write digits, such as 10", name, said(v))
		}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		if _, err := strconv.ParseFloat(v.Value, 64); !scalar || err != nil {
			s.add(v, "%s is a number, and this is %s: write digits, such as 0.5", name, said(v))
		}
	}
}

// text refuses numbers, booleans and dates where the contract has a text:
// `name: 1.10` would silently become another one.
func (s *shape) text(v *yaml.Node, name string) {
	switch {
	case v.Kind != yaml.ScalarNode:
		s.add(v, "%s is text, and this is %s: write it on one line, or after | on lines of their own", name, said(v))
	case slices.Contains([]string{"!!int", "!!float", "!!bool", "!!timestamp"}, v.ShortTag()):
		s.add(v, "%s is text, and this is %s: put it in quotes, %q", name, said(v), v.Value)
	}
}

func (s *shape) enum(v *yaml.Node, d protoreflect.EnumDescriptor, name string) {
	var names []string
	for i := range d.Values().Len() {
		value := d.Values().Get(i)
		if v.Kind == yaml.ScalarNode && (string(value.Name()) == v.Value || strconv.Itoa(int(value.Number())) == v.Value) {
			return
		}
		if !strings.HasSuffix(string(value.Name()), "_unspecified") {
			names = append(names, string(value.Name()))
		}
	}
	s.add(v, "%s is one of %s, and this is %s.%s", name, strings.Join(names, ", "), said(v), near.Hint(v.Value, names))
}

// said is what a node is, for people.
func said(v *yaml.Node) string {
	switch v.Kind {
	case yaml.MappingNode:
		return "a set of fields"
	case yaml.SequenceNode:
		return "a list"
	}
	switch v.ShortTag() {
	case "!!int", "!!float":
		return "the number " + v.Value
	case "!!bool":
		return "the word " + v.Value + ", which is true or false"
	case "!!timestamp":
		return "the date " + v.Value
	}
	return fmt.Sprintf("%q", oneLine(v.Value, 40))
}

func fieldNames(d protoreflect.MessageDescriptor) []string {
	names := make([]string, d.Fields().Len())
	for i := range names {
		names[i] = d.Fields().Get(i).JSONName()
	}
	return names
}

// fieldOf finds a field by its JSON name or its name in the contract.
func fieldOf(d protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := d.Fields().ByJSONName(name); fd != nil {
		return fd
	}
	return d.Fields().ByTextName(name)
}
