// Package resource is the vocabulary of declared things: their kinds, ids,
// slugs, references, and the envelope that every kind's message has. It works
// on the generated messages by reflection, so that a kind needs no code here.
package resource

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
)

// Kind is the number of a kind of resource.
type Kind = resourcev1.ResourceKind

// DefaultOrg is the organization that is used when none is named. The first
// start of a server creates it.
const DefaultOrg = "default"

// KindName is the kind's name in storage: the name of its enum value. A number
// that the enum lacks is a fault that gives the number and the enum.
func KindName(k Kind) (string, error) {
	v := k.Descriptor().Values().ByNumber(k.Number())
	if v == nil || k == resourcev1.ResourceKind_kind_unspecified {
		return "", fault.New(fault.Internal, "UNKNOWN_KIND", "kind number %d is not in %s", k.Number(), k.Descriptor().FullName())
	}
	return string(v.Name()), nil
}

// MustKindName is KindName for kinds that the program itself names.
func MustKindName(k Kind) string {
	name, err := KindName(k)
	if err != nil {
		panic(err)
	}
	return name
}

// Meta describes a kind. It is empty for a number that the enum lacks.
func Meta(k Kind) *resourcev1.KindMeta {
	v := k.Descriptor().Values().ByNumber(k.Number())
	if v == nil {
		return &resourcev1.KindMeta{}
	}
	options, _ := v.Options().(*descriptorpb.EnumValueOptions)
	if !proto.HasExtension(options, resourcev1.E_KindMeta) {
		return &resourcev1.KindMeta{}
	}
	return proto.GetExtension(options, resourcev1.E_KindMeta).(*resourcev1.KindMeta)
}

// APIVersion is what the api_version field of the kind's resources holds.
func APIVersion(k Kind) string { return Meta(k).GetGroup() + ".cadre.dev/v1" }

// Kinds are all kinds of the enum, in the order of their numbers.
func Kinds() []Kind {
	values := Kind(0).Descriptor().Values()
	all := make([]Kind, 0, values.Len())
	for i := range values.Len() {
		if n := values.Get(i).Number(); n != 0 {
			all = append(all, Kind(n))
		}
	}
	slices.Sort(all)
	return all
}

// NewMessage makes an empty message of a kind. A fault for a kind whose messages are
// not linked into this program, or not written yet.
func NewMessage(k Kind) (proto.Message, error) {
	name, err := KindName(k)
	if err != nil {
		return nil, err
	}
	meta := Meta(k)
	full := protoreflect.FullName("cadre." + meta.GetGroup() + "." + strings.ToLower(meta.GetName()) + ".v1." + meta.GetName())
	mt, err := protoregistry.GlobalTypes.FindMessageByName(full)
	if err != nil {
		return nil, fault.New(fault.Internal, "UNKNOWN_KIND", "the messages of the kind %s are not known to this program", name).Because(err)
	}
	return mt.New().Interface(), nil
}

// ParseKind finds a kind by what a person may call it: the name in a file
// (`Agent`), the storage name (`agent_execution`), the plural or the id's
// prefix, all without regard to case.
func ParseKind(word string) (Kind, bool) {
	w := strings.ToLower(word)
	for _, k := range Kinds() {
		m := Meta(k)
		switch w {
		case strings.ToLower(m.GetName()), m.GetPlural(), MustKindName(k):
			return k, true
		}
		if m.GetPrefix() != "" && w == m.GetPrefix() {
			return k, true
		}
	}
	return 0, false
}

// KindOf is the kind of a resource's message, by the name of its type.
func KindOf(m protoreflect.MessageDescriptor) (Kind, bool) {
	if m == nil || m.Fields().ByName("metadata") == nil || m.Fields().ByName("api_version") == nil {
		return 0, false
	}
	for _, k := range Kinds() {
		if Meta(k).GetName() == string(m.Name()) {
			return k, true
		}
	}
	return 0, false
}
