package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
)

// Metadata is the metadata of a resource's message, or nil when it is unset or
// m is no resource. The answer is part of m: changing it changes m.
func Metadata(m proto.Message) *resourcev1.Metadata {
	if m == nil {
		return nil
	}
	fd := m.ProtoReflect().Descriptor().Fields().ByName("metadata")
	if fd == nil || !m.ProtoReflect().Has(fd) {
		return nil
	}
	md, _ := m.ProtoReflect().Get(fd).Message().Interface().(*resourcev1.Metadata)
	return md
}

// EnsureMetadata is Metadata, set first when it is unset. m must be a resource.
func EnsureMetadata(m proto.Message) *resourcev1.Metadata {
	fd := m.ProtoReflect().Descriptor().Fields().ByName("metadata")
	return m.ProtoReflect().Mutable(fd).Message().Interface().(*resourcev1.Metadata)
}

// SetIdentity writes the kind's api_version and name into a resource.
func SetIdentity(m proto.Message, k Kind) {
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	r.Set(fields.ByName("api_version"), protoreflect.ValueOfString(APIVersion(k)))
	r.Set(fields.ByName("kind"), protoreflect.ValueOfString(Meta(k).GetName()))
}

// ClearStatus removes the status that a client sent: it is the server's.
func ClearStatus(m proto.Message) {
	if fd := m.ProtoReflect().Descriptor().Fields().ByName("status"); fd != nil {
		m.ProtoReflect().Clear(fd)
	}
}

// CopyStatus gives to the status of from; to has none when from has none.
func CopyStatus(to, from proto.Message) {
	fd := to.ProtoReflect().Descriptor().Fields().ByName("status")
	if fd == nil {
		return
	}
	if !from.ProtoReflect().Has(fd) {
		to.ProtoReflect().Clear(fd)
		return
	}
	to.ProtoReflect().Set(fd, protoreflect.ValueOfMessage(proto.Clone(from.ProtoReflect().Get(fd).Message().Interface()).ProtoReflect()))
}

// ContentHash is the SHA-256 of the spec's deterministic bytes, in lower-case
// hexadecimal. A resource without a spec has the hash of no bytes.
func ContentHash(m proto.Message) (string, error) {
	var data []byte
	r := m.ProtoReflect()
	if fd := r.Descriptor().Fields().ByName("spec"); fd != nil && r.Has(fd) {
		var err error
		data, err = proto.MarshalOptions{Deterministic: true}.Marshal(r.Get(fd).Message().Interface())
		if err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Stamp writes who changed a resource and when; created also says who made it.
func Stamp(md *resourcev1.Metadata, by string, at time.Time, created bool) {
	deed := &resourcev1.AuditEntry{By: by, At: timestamppb.New(at)}
	if md.Audit == nil {
		md.Audit = &resourcev1.Audit{}
	}
	if created {
		md.Audit.Created = deed
	}
	md.Audit.Updated = deed
}
