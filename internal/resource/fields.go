package resource

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// FieldValue reads a scalar by its dotted path: `metadata.slug`. Each part is
// looked up as written, then in snake case, so `apiVersion` and `api_version`
// are the same. A key of a string map is a part too. The answer is "" where the
// field does not exist, where the path goes on behind a scalar, and where it
// ends at a message, a list or a map. Enums give their value's name, timestamps
// RFC 3339 in UTC with nanoseconds, so that they sort.
func FieldValue(m proto.Message, path string) string {
	if m == nil {
		return ""
	}
	return fieldValue(m.ProtoReflect(), path)
}

func fieldValue(m protoreflect.Message, path string) string {
	part, rest, more := strings.Cut(path, ".")
	fd := findField(m.Descriptor(), part)
	switch {
	case fd == nil || fd.IsList():
		return ""
	case fd.IsMap():
		if !more || fd.MapValue().Kind() != protoreflect.StringKind || fd.MapKey().Kind() != protoreflect.StringKind {
			return ""
		}
		return mapText(m.Get(fd).Map(), rest)
	case fd.Message() != nil:
		if ts, ok := m.Get(fd).Message().Interface().(*timestamppb.Timestamp); ok && !more {
			return formatTime(ts, m.Has(fd))
		}
		if !more {
			return ""
		}
		return fieldValue(m.Get(fd).Message(), rest)
	case more:
		return ""
	}
	return scalarText(fd, m.Get(fd))
}

func mapText(m protoreflect.Map, key string) string {
	k := protoreflect.ValueOfString(key).MapKey()
	if !m.Has(k) {
		return ""
	}
	return m.Get(k).String()
}

func findField(d protoreflect.MessageDescriptor, part string) protoreflect.FieldDescriptor {
	if fd := d.Fields().ByName(protoreflect.Name(part)); fd != nil {
		return fd
	}
	return d.Fields().ByName(protoreflect.Name(SnakeCase(part)))
}

func formatTime(ts *timestamppb.Timestamp, set bool) string {
	if !set {
		return ""
	}
	return ts.AsTime().UTC().Format("2006-01-02T15:04:05.000000000Z")
}

func scalarText(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.EnumKind:
		if ev := fd.Enum().Values().ByNumber(v.Enum()); ev != nil {
			return string(ev.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	case protoreflect.BytesKind:
		return string(v.Bytes())
	default:
		return v.String()
	}
}

// LabelValue reads a label of a resource; "" when it has none of that name.
func LabelValue(m proto.Message, key string) string {
	return Metadata(m).GetLabels()[key]
}

// SnakeCase turns a JSON name into the name in the .proto file:
// runnerTaskQueue becomes runner_task_queue. What is already in that form stays.
func SnakeCase(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 4)
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
