package main

import (
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// notice stands at the top of every page that this program writes.
const notice = "<!-- Written by `make generate` from proto/. Do not edit. -->\n\n"

// references writes the pages about kinds and events, by path below docs/.
func references(src *sources) output {
	return output{
		"reference/kinds.md":  []byte(kindsPage(src)),
		"reference/events.md": []byte(eventsPage(src)),
	}
}

// kindsPage describes every resource: its fields, and what can be done with it.
func kindsPage(src *sources) string {
	var b strings.Builder
	b.WriteString("# Kinds\n\n" + notice)
	b.WriteString("Every resource has `apiVersion`, `kind`, `metadata`, and mostly `spec` (what is asked for) and `status` (what the server observes).\n" +
		"Names are those of JSON and YAML; input takes snake_case too. Kinds with `Apply` can be declared in files: `cadre apply -f FILE`.\n")
	for _, f := range src.own {
		for i := range f.Messages().Len() {
			m := f.Messages().Get(i)
			if !isResource(m) {
				continue
			}
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", m.Name(), about(m))
			for _, part := range []protoreflect.Name{"spec", "status"} {
				if field := m.Fields().ByName(part); field != nil {
					writeFields(&b, string(part), field.Message(), map[protoreflect.FullName]bool{})
				}
			}
			writeMethods(&b, f)
		}
	}
	b.WriteString("\n## metadata\n\nThe same for every kind.\n")
	for _, f := range src.own {
		if m := f.Messages().ByName("Metadata"); m != nil {
			writeFields(&b, "metadata", m, map[protoreflect.FullName]bool{})
		}
	}
	return b.String()
}

// eventsPage describes every event by the name that a log shows.
func eventsPage(src *sources) string {
	var b strings.Builder
	b.WriteString("# Events\n\n" + notice)
	for _, f := range src.own {
		envelope := f.Messages().ByName("Event")
		if envelope == nil || envelope.Oneofs().ByName("payload") == nil {
			continue
		}
		b.WriteString("What happened in a session, in order and without gaps: `cadre events SESSION -f`, `cadre run -o json`.\nThe field of the payload is the type's name in lowerCamelCase.\n\n## The envelope\n")
		writeTable(&b, envelope, func(fd protoreflect.FieldDescriptor) bool { return fd.ContainingOneof() == nil })
		payload := envelope.Oneofs().ByName("payload").Fields()
		for i := range payload.Len() {
			m := payload.Get(i).Message()
			fmt.Fprintf(&b, "\n## %s\n", eventType(string(payload.Get(i).Name())))
			if text := about(m); text != "" {
				b.WriteString("\n" + text + "\n")
			}
			writeFields(&b, "", m, map[protoreflect.FullName]bool{})
		}
		if m := f.Messages().ByName("EphemeralDelta"); m != nil {
			fmt.Fprintf(&b, "\n## Frames without an id\n\n%s\n", about(m))
			writeTable(&b, m, nil)
		}
	}
	return b.String()
}

// eventType is the name that a log shows, which is made of the field's.
func eventType(field string) string {
	return strings.Replace(strings.ReplaceAll(field, "_", "."), "outcome.unknown", "outcome_unknown", 1)
}

// writeFields writes a table of a message's fields, and of the messages of the same
// contract that they hold.
func writeFields(b *strings.Builder, path string, m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) {
	if seen[m.FullName()] || m.Fields().Len() == 0 {
		return
	}
	seen[m.FullName()] = true
	if path != "" {
		fmt.Fprintf(b, "\n### `%s`\n", path)
	}
	writeTable(b, m, nil)
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		if below := fd.Message(); below != nil && !fd.IsMap() && strings.HasPrefix(string(below.FullName()), "cadre.") {
			name := fd.JSONName()
			if path != "" {
				name = path + "." + name
			}
			writeFields(b, name, below, seen)
		}
	}
}

func writeTable(b *strings.Builder, m protoreflect.MessageDescriptor, keep func(protoreflect.FieldDescriptor) bool) {
	b.WriteString("\n| field | type | meaning |\n| --- | --- | --- |\n")
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		if keep != nil && !keep(fd) {
			continue
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", fd.JSONName(), typeWords(fd), cell(fieldWords(fd)))
	}
}

// fieldWords is a field's comment and, for an enum, its values.
func fieldWords(fd protoreflect.FieldDescriptor) string {
	words := about(fd)
	if fd.Enum() == nil {
		return words
	}
	var values []string
	for i := range fd.Enum().Values().Len() {
		v := fd.Enum().Values().Get(i)
		if v.Number() == 0 {
			continue
		}
		one := "`" + string(v.Name()) + "`"
		if text := about(v); text != "" {
			one += " (" + strings.TrimSuffix(text, ".") + ")"
		}
		values = append(values, one)
	}
	return strings.TrimSpace(words + " One of " + strings.Join(values, ", ") + ".")
}

// typeWords is a field's type as JSON has it.
func typeWords(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.IsMap():
		return "map of " + scalarWords(fd.MapValue())
	case fd.IsList():
		return "list of " + scalarWords(fd)
	}
	return scalarWords(fd)
}

func scalarWords(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		if fd.Message().FullName() == "google.protobuf.Timestamp" {
			return "time"
		}
		return string(fd.Message().Name())
	case protoreflect.EnumKind:
		return "word"
	case protoreflect.BytesKind:
		return "base64"
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind:
		return "text"
	case protoreflect.Int64Kind, protoreflect.Uint64Kind:
		return "number (64 bits, in quotes)"
	}
	return "number"
}

// writeMethods lists what can be done, with the REST path.
func writeMethods(b *strings.Builder, f protoreflect.FileDescriptor) {
	for i := range f.Services().Len() {
		s := f.Services().Get(i)
		b.WriteString("\n### Calls\n\n| call | REST | meaning |\n| --- | --- | --- |\n")
		for j := range s.Methods().Len() {
			m := s.Methods().Get(j)
			fmt.Fprintf(b, "| `%s.%s` | %s | %s |\n", s.Name(), m.Name(), restWords(m), cell(about(m)))
		}
	}
}

func about(d protoreflect.Descriptor) string {
	loc := d.ParentFile().SourceLocations().ByDescriptor(d)
	return strings.Join(strings.Fields(loc.LeadingComments), " ")
}

// cell makes text safe in a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// restWords is a method's REST path.
func restWords(m protoreflect.MethodDescriptor) string {
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	for _, one := range [][2]string{{"GET", rule.GetGet()}, {"POST", rule.GetPost()}, {"PUT", rule.GetPut()}, {"DELETE", rule.GetDelete()}} {
		if one[1] != "" {
			return "`" + one[0] + " " + one[1] + "`"
		}
	}
	return "–"
}
