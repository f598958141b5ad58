package pipeline_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

func TestABrokenRuleSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	v, err := pipeline.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	sound := func(change func(*agentv1.Agent)) proto.Message {
		a := &agentv1.Agent{
			ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "a"},
			Spec: &agentv1.AgentSpec{Instructions: "long enough to be sound"},
		}
		change(a)
		return a
	}
	for want, m := range map[string]proto.Message{
		`spec.effort: must be one of none, minimal, low, medium, high, max. Did you mean "high"?`:        sound(func(a *agentv1.Agent) { a.Spec.Effort = "hgh" }),
		`metadata.slug: must be lower-case letters, digits and hyphens between them, such as not-a-slug`: sound(func(a *agentv1.Agent) { a.Metadata.Slug = "Not A Slug" }),
		`metadata.org: must be lower-case letters, digits and hyphens between them`:                      sound(func(a *agentv1.Agent) { a.Metadata.Org = "!" }),
		`spec.instructions: must be at least 10 characters`:                                              sound(func(a *agentv1.Agent) { a.Spec.Instructions = "short" }),
		`spec.instructions: must not be empty`:                                                           sound(func(a *agentv1.Agent) { a.Spec.Instructions = "" }),
		`metadata: is missing`:                                                                           sound(func(a *agentv1.Agent) { a.Metadata = nil }),
		`message: must not be empty`:                                                                     &sessionv1.RunAgentRequest{Agent: "a"},
	} {
		if err := v.Validate(m); fault.From(err) == nil || fault.From(err).Message != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
