// Package event is the vocabulary of what happens in sessions: it makes events
// from their payloads, so that a type's name and its payload never disagree.
package event

import (
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
)

// New makes an event with the payload's type, at the given time. Session, seq,
// execution and attempt are the store's to fill in. It panics when payload is
// no payload of the contract, which is a fault of the program.
func New(at time.Time, payload proto.Message) *eventv1.Event {
	k, ok := kinds()[payload.ProtoReflect().Descriptor().FullName()]
	if !ok {
		panic("event: no event carries a " + string(payload.ProtoReflect().Descriptor().FullName()))
	}
	e := &eventv1.Event{Type: k.name, OccurredAt: timestamppb.New(at)}
	e.ProtoReflect().Set(k.field, protoreflect.ValueOfMessage(payload.ProtoReflect()))
	return e
}

// Types are all type names, in the order of the contract.
func Types() []string {
	fields := payloads()
	names := make([]string, fields.Len())
	for i := range names {
		names[i] = name(fields.Get(i))
	}
	return names
}

type kind struct {
	name  string
	field protoreflect.FieldDescriptor
}

var kinds = sync.OnceValue(func() map[protoreflect.FullName]kind {
	all := map[protoreflect.FullName]kind{}
	fields := payloads()
	for i := range fields.Len() {
		fd := fields.Get(i)
		all[fd.Message().FullName()] = kind{name: name(fd), field: fd}
	}
	return all
})

func payloads() protoreflect.FieldDescriptors {
	return (&eventv1.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("payload").Fields()
}

// name derives the type from the field: dots between the words, but for the
// one word that has two parts.
func name(fd protoreflect.FieldDescriptor) string {
	dotted := strings.ReplaceAll(string(fd.Name()), "_", ".")
	return strings.Replace(dotted, "outcome.unknown", "outcome_unknown", 1)
}
