package pipeline

import (
	"context"
	"errors"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Validator judges messages by the rules of the contract. One instance serves
// the transport and the pipeline. Safe for concurrent use.
type Validator struct{ rules protovalidate.Validator }

// NewValidator makes one.
func NewValidator() (*Validator, error) {
	v, err := protovalidate.New()
	if err != nil {
		return nil, err
	}
	return &Validator{rules: v}, nil
}

// Validate answers an InvalidArgument fault that lists every violation with the
// field's path and the rule's id, nil when there is none.
func (v *Validator) Validate(m proto.Message) error {
	if path := unknownField(m.ProtoReflect(), ""); path != "" {
		return fault.New(fault.InvalidArgument, "UNKNOWN_FIELD", "the message holds a field that this server does not know (in %s): the client is newer, or the message is of another type", path)
	}
	if path := nulField(m.ProtoReflect(), ""); path != "" {
		f := fault.New(fault.InvalidArgument, "VALIDATION_FAILED", "%s: holds a NUL character, which no text may: remove it, or upload the bytes as a file", path)
		f.Violations = []fault.Violation{{Field: path, Rule: "text.nul", Text: "holds a NUL character, which no text may: remove it, or upload the bytes as a file"}}
		return f
	}
	err := v.rules.Validate(m)
	if err == nil {
		return nil
	}
	var broken *protovalidate.ValidationError
	if !errors.As(err, &broken) {
		return fault.From(err)
	}
	f := fault.New(fault.InvalidArgument, "VALIDATION_FAILED", "the request breaks the contract's rules")
	for _, violation := range broken.Violations {
		f.Violations = append(f.Violations, fault.Violation{
			Field: protovalidate.FieldPathString(violation.Proto.GetField()),
			Rule:  violation.Proto.GetRuleId(),
			Text:  words(violation),
		})
	}
	if len(f.Violations) > 0 {
		first := f.Violations[0]
		f.Message = first.Field + ": " + first.Text
		if first.Text == "" {
			f.Message = first.Field + ": breaks " + first.Rule
		}
	}
	return f
}

// unknownField finds bytes that no field of the contract describes.
func unknownField(m protoreflect.Message, path string) (found string) {
	if len(m.GetUnknown()) > 0 {
		return string(m.Descriptor().Name()) + path
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path + "." + string(fd.Name())
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, mv protoreflect.Value) bool {
					found = unknownField(mv.Message(), at)
					return found == ""
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i := 0; i < v.List().Len() && found == ""; i++ {
				found = unknownField(v.List().Get(i).Message(), at)
			}
		default:
			found = unknownField(v.Message(), at)
		}
		return found == ""
	})
	return found
}

// Validate is the step that judges the request again after a composition's
// steps may have changed it; the transport has judged it before.
func Validate(d Deps) Step {
	return Step{"validate", func(_ context.Context, r *Request) error { return d.Validator.Validate(r.Message) }}
}
