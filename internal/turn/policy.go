package turn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// DefinitionHash identifies all that a policy fixes but its own hash: SHA-256 in
// lower-case hexadecimal. It is the same in every release: only fields that are set
// count, by their numbers.
func DefinitionHash(p *ledgerv1.ExecutionPolicy) string {
	p = proto.CloneOf(p)
	p.DefinitionHash = ""
	h := sha256.New()
	hashFields(h, p.ProtoReflect())
	return hex.EncodeToString(h.Sum(nil))
}

// hashFields writes the fields of a message that are set, in the order of their numbers.
func hashFields(w io.Writer, m protoreflect.Message) {
	var fields []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		fields = append(fields, fd)
		return true
	})
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	for _, fd := range fields {
		value := m.Get(fd)
		if !fd.IsList() {
			hashValue(w, fd, value)
			continue
		}
		for i := range value.List().Len() {
			hashValue(w, fd, value.List().Get(i))
		}
	}
}

func hashValue(w io.Writer, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	if fd.Message() == nil {
		_, _ = fmt.Fprintf(w, "%d=%q\n", fd.Number(), v.String())
		return
	}
	_, _ = fmt.Fprintf(w, "%d{\n", fd.Number())
	hashFields(w, v.Message())
	_, _ = io.WriteString(w, "}\n")
}

// samePolicy refuses to continue a turn on a policy that is not the one which was frozen,
// or whose model is another one here. What is only defined otherwise here may pass, for
// instance while servers of two releases share the work.
func (t *turn) samePolicy(ctx context.Context) error {
	p := t.claim.Policy
	if t.claim.First {
		return nil
	}
	if len(p.ProtoReflect().GetUnknown()) > 0 { // a newer release fixed what this one cannot keep to
		return &failure.PolicyChanged{Model: p.GetModel()}
	}
	if frozen := p.GetDefinitionHash(); frozen != "" && frozen != DefinitionHash(p) {
		return fault.New(fault.FailedPrecondition, "EXECUTION_POLICY_DAMAGED",
			"what was fixed for this turn when it began is not what the ledger holds now; send the message again")
	}
	if p.GetModelFingerprint() == "" && p.GetDefinitionHash() == "" {
		return nil
	}
	now, err := t.fx.Fingerprint(ctx, p.GetModel())
	if err != nil {
		return err
	}
	if now != p.GetModelFingerprint() {
		return &failure.PolicyChanged{Model: p.GetModel()}
	}
	return nil
}
