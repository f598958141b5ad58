package pipeline

import (
	"slices"
	"strings"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/resource"
)

// words says what a rule wants, and what was probably meant. Rules whose own
// message is plain enough keep it.
func words(v *protovalidate.Violation) string {
	switch v.Proto.GetRuleId() {
	case "string.in":
		return oneOf(v)
	case "string.pattern":
		if name := fieldName(v); name == "slug" || name == "org" {
			return slugWords(v.FieldValue.String())
		}
	case "string.min_len":
		if v.FieldValue.IsValid() && v.FieldValue.String() == "" {
			return "must not be empty"
		}
	case "required":
		return "is missing"
	}
	return v.Proto.GetMessage()
}

func fieldName(v *protovalidate.Violation) string {
	if v.FieldDescriptor == nil {
		return ""
	}
	return string(v.FieldDescriptor.Name())
}

// oneOf lists the words of a choice; the empty one goes without saying.
func oneOf(v *protovalidate.Violation) string {
	choices, ok := v.RuleValue.Interface().(protoreflect.List)
	if !ok {
		return v.Proto.GetMessage()
	}
	var known []string
	for i := range choices.Len() {
		if word := choices.Get(i).String(); word != "" && !slices.Contains(known, word) {
			known = append(known, word)
		}
	}
	return "must be one of " + strings.Join(known, ", ") + "." + near.Hint(v.FieldValue.String(), known)
}

func slugWords(value string) string {
	text := "must be lower-case letters, digits and hyphens between them"
	if slug := resource.Slug(value); slug != "" {
		text += ", such as " + slug
	}
	return text
}
