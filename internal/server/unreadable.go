package server

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
)

// A codec that fails would be answered by the transport, before anybody knows
// who asks, without reason and error id. A message that cannot be read is
// therefore handed on with a mark that says why: an unknown field of the highest
// number. The dispatcher answers it, and what overlooks the mark refuses the
// message all the same, as one with a field that nobody knows.

// markNumber is the field number of the mark, the highest that there is.
const markNumber protowire.Number = 1<<29 - 1

// faults of a request's body.
var (
	emptyBody = fault.New(fault.InvalidArgument, "EMPTY_BODY", "the body is empty; send at least {}")
	notJSON   = fault.New(fault.InvalidArgument, "MALFORMED_JSON", "")
	notBinary = fault.New(fault.InvalidArgument, "MALFORMED_PROTOBUF", "")
	noField   = fault.New(fault.InvalidArgument, "UNKNOWN_FIELD", "")
)

// makeUnreadable empties a message and marks it with what is wrong.
func makeUnreadable(m proto.Message, f *fault.Fault) {
	proto.Reset(m)
	var b []byte
	for _, part := range []string{f.Reason, f.Message} {
		b = protowire.AppendTag(b, markNumber, protowire.BytesType)
		b = protowire.AppendString(b, part)
	}
	m.ProtoReflect().SetUnknown(b)
}

// unreadable answers what is wrong with a marked message, nil for any other.
func unreadable(m proto.Message) *fault.Fault {
	var parts []string
	for b := []byte(m.ProtoReflect().GetUnknown()); len(b) > 0; {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || number != markNumber || kind != protowire.BytesType {
			return nil
		}
		text, size := protowire.ConsumeBytes(b[n:])
		if size < 0 {
			return nil
		}
		parts, b = append(parts, string(text)), b[n+size:]
	}
	if len(parts) != 2 || !utf8.ValidString(parts[1]) {
		return nil
	}
	for _, known := range []*fault.Fault{emptyBody, notJSON, notBinary, noField} {
		if known.Reason == parts[0] {
			return known.Saying("%s", parts[1])
		}
	}
	return nil
}

var unknownJSON = regexp.MustCompile(`^\(line (\d+):(\d+)\): unknown field "(.*)"$`)

// badJSON says what is wrong with a text, where, and what was probably meant.
func badJSON(m proto.Message, err error) *fault.Fault {
	text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "proto:")), " ") // its blanks vary on purpose
	name := m.ProtoReflect().Descriptor().FullName()
	if f := unknownJSON.FindStringSubmatch(text); f != nil {
		return noField.Saying("line %s:%s of the body: %s has no field %q.%s", f[1], f[2], name, f[3], near.Hint(f[3], fieldsBelow(m.ProtoReflect().Descriptor())))
	}
	return notJSON.Saying("the body is no JSON of %s: %s", name, text)
}

func badBinary(m proto.Message) *fault.Fault {
	return notBinary.Saying("the body is no %s in protobuf's binary form", m.ProtoReflect().Descriptor().FullName())
}

// fieldsBelow are the JSON names of all fields of a message and of what it holds.
func fieldsBelow(d protoreflect.MessageDescriptor) []string {
	var names []string
	seen := map[protoreflect.FullName]bool{}
	var visit func(protoreflect.MessageDescriptor)
	visit = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		for i := range d.Fields().Len() {
			fd := d.Fields().Get(i)
			names = append(names, fd.JSONName())
			if fd.Message() != nil {
				visit(fd.Message())
			}
		}
	}
	visit(d)
	return names
}
