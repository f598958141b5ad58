package pipeline

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// nulField finds a text with a NUL character, in values as well as in keys of maps, and
// answers its field's path; "" when there is none. PostgreSQL keeps no such text, and what
// one database takes the other must take too. Bytes may hold what they like.
func nulField(m protoreflect.Message, path string) (found string) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := string(fd.Name())
		if path != "" {
			at = path + "." + at
		}
		switch {
		case fd.IsMap():
			found = nulEntry(fd, v.Map(), at)
		case fd.IsList():
			for i := 0; i < v.List().Len() && found == ""; i++ {
				found = nulValue(fd, v.List().Get(i), at+"["+strconv.Itoa(i)+"]")
			}
		default:
			found = nulValue(fd, v, at)
		}
		return found == ""
	})
	return found
}

func nulEntry(fd protoreflect.FieldDescriptor, m protoreflect.Map, path string) (found string) {
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		at := fmt.Sprintf("%s[%q]", path, k.String())
		if strings.IndexByte(k.String(), 0) >= 0 {
			found = at
		} else {
			found = nulValue(fd.MapValue(), v, at)
		}
		return found == ""
	})
	return found
}

func nulValue(fd protoreflect.FieldDescriptor, v protoreflect.Value, path string) string {
	switch {
	case fd.Message() != nil:
		return nulField(v.Message(), path)
	case fd.Kind() == protoreflect.StringKind && strings.IndexByte(v.String(), 0) >= 0:
		return path
	}
	return ""
}
