package pipeline

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cadre-dev/cadre/internal/resource"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// changedShown bounds, in bytes, what a line of a diff shows of a value.
const changedShown = 120

// Changes lists what a person would see change between two states of a
// resource: a line `path: old -> new` per field, the server's own left out.
func Changes(old, new proto.Message) []string {
	a, b := map[string]string{}, map[string]string{}
	flatten(a, old.ProtoReflect(), "")
	flatten(b, new.ProtoReflect(), "")
	var lines []string
	for path, was := range a {
		if is, ok := b[path]; !ok {
			lines = append(lines, fmt.Sprintf("%s: %s -> (unset)", path, brief(was)))
		} else if is != was {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", path, brief(was), brief(is)))
		}
	}
	for path, is := range b {
		if _, ok := a[path]; !ok {
			lines = append(lines, fmt.Sprintf("%s: (unset) -> %s", path, brief(is)))
		}
	}
	slices.Sort(lines)
	return lines
}

func brief(s string) string {
	q := strconv.Quote(s)
	if len(q) > changedShown {
		q = strconv.Quote(s[:min(len(s), changedShown)]) + "…"
	}
	return q
}

// serverOwned are paths that no client sets.
var serverOwned = []string{"status", "metadata.id", "metadata.version", "metadata.audit", "api_version", "kind"}

func flatten(out map[string]string, m protoreflect.Message, path string) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path + string(fd.Name())
		if slices.Contains(serverOwned, at) {
			return true
		}
		switch {
		case fd.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, mv protoreflect.Value) bool {
				out[at+"["+k.String()+"]"] = mv.String()
				return true
			})
		case fd.IsList() && fd.Message() == nil:
			for i := range v.List().Len() {
				out[fmt.Sprintf("%s[%d]", at, i)] = v.List().Get(i).String()
			}
		case fd.IsList():
			for i := range v.List().Len() {
				flatten(out, v.List().Get(i).Message(), fmt.Sprintf("%s[%d].", at, i))
			}
		case fd.Message() != nil:
			flatten(out, v.Message(), at+".")
		case fd.Enum() != nil:
			out[at] = resource.FieldValue(m.Interface(), string(fd.Name()))
		default:
			out[at] = v.String()
		}
		return true
	})
}

// unchanged says whether applying would change nothing that a client sets. What
// the client leaves to the server counts as it is.
func unchanged(r *Request) bool {
	desired := proto.Clone(r.Desired)
	if md := resource.EnsureMetadata(desired); md.Visibility == resourcev1.Visibility_visibility_unspecified {
		md.Visibility = resource.Metadata(r.Existing).GetVisibility()
	}
	return len(Changes(r.Existing, desired)) == 0
}

// answerWith puts the resource into the answer of its verb: the resource itself,
// or the response of Apply.
func answerWith(r *Request, k Kind, outcome resourcev1.ApplyOutcome, changes []string) proto.Message {
	res := r.Desired
	if outcome == resourcev1.ApplyOutcome_unchanged {
		res = r.Existing
	}
	if r.Procedure != Procedure(k, "Apply") {
		return res
	}
	out := outputOf(r.Procedure)().ProtoReflect()
	fields := out.Descriptor().Fields()
	for i := range fields.Len() {
		if fd := fields.Get(i); fd.Message() != nil && fd.Message().FullName() == res.ProtoReflect().Descriptor().FullName() {
			out.Set(fd, protoreflect.ValueOfMessage(res.ProtoReflect()))
		}
	}
	out.Set(fields.ByName("outcome"), protoreflect.ValueOfEnum(outcome.Number()))
	lines := out.Mutable(fields.ByName("changes")).List()
	for _, line := range changes {
		lines.Append(protoreflect.ValueOfString(line))
	}
	return out.Interface()
}
