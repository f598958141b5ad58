package turn_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	"github.com/cadre-dev/cadre/internal/turn"
)

// TestTheHashOfAPolicy: each field counts, and the hash of what a release froze stays the
// same for ever. T36
func TestTheHashOfAPolicy(t *testing.T) {
	t.Parallel()
	base := &ledgerv1.ExecutionPolicy{Model: "openai/gpt-5", Provider: "openai", Tools: []string{"read", "edit"}, Limits: &agentv1.AgentLimits{MaxModelCalls: 7}}
	const released = "72397a29b1b7fb4759526be6c9b8876b90a435a8306c332833eeaee090c0171a"
	if got := turn.DefinitionHash(base); got != released {
		t.Errorf("the hash is %s, and a release had %s", got, released)
	}
	seen := map[string]string{released: "nothing"}
	note := func(what string, p *ledgerv1.ExecutionPolicy) {
		h := turn.DefinitionHash(p)
		if before, twice := seen[h]; twice {
			t.Errorf("%s changed gives the hash of %s changed", what, before)
		}
		seen[h] = what
	}
	fields := base.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		p := proto.CloneOf(base)
		switch {
		case fd.Name() == "definition_hash":
			continue
		case fd.IsList():
			p.Tools = []string{"edit", "read"}
		case fd.Message() != nil:
			p.Limits.MaxOutputTokens = 7
		default:
			p.ProtoReflect().Set(fd, other(fd))
		}
		note(string(fd.Name()), p)
	}
	p := proto.CloneOf(base)
	p.Tools = []string{"read"}
	note("the number of tools", p)
	p = proto.CloneOf(base)
	p.DefinitionHash = "x"
	if turn.DefinitionHash(p) != released || p.DefinitionHash != "x" {
		t.Error("the hash counts itself, or changes the policy")
	}
}

// other is a value that the field of the test's policy does not have.
func other(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("another " + string(fd.Name()))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(2)
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(2)
	}
	return protoreflect.ValueOfInt64(2)
}

// A policy that a newer release fixed is not continued here, and may be elsewhere. T36
func TestAPolicyOfANewerReleaseWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play = faulty()
	w.accept("go on")
	first := w.claim("")
	if err := w.store.Release(t.Context(), first.Fence, "server_stopping", w.Now()); err != nil {
		t.Fatal(err)
	}
	again := w.claim("")
	again.Policy.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 9999, protowire.VarintType), 1))
	if err := turn.Run(t.Context(), w, again, w.opt); err != nil {
		t.Fatal(err)
	}
	if code := w.waits("setup").GetError().GetCode(); code != "model_definition_changed" || len(w.steps) != 0 {
		t.Errorf("it waits because of %s after %v", code, w.steps)
	}
}
