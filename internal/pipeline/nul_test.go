package pipeline_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

// A NUL character is refused in every text, wherever it stands, and the field is named.
func TestTextsWithNULAreRefused(t *testing.T) {
	t.Parallel()
	v, err := pipeline.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	agent := func(change func(*agentv1.Agent)) proto.Message {
		a := &agentv1.Agent{
			ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "a", Labels: map[string]string{"team": "core"}},
			Spec: &agentv1.AgentSpec{Instructions: "Be careful with it.", Tools: []string{"read", "grep"}},
		}
		change(a)
		return &agentv1.CreateAgentRequest{Agent: a}
	}
	for field, m := range map[string]proto.Message{
		"agent.metadata.name":               agent(func(a *agentv1.Agent) { a.Metadata.Name = "a\x00" }),
		"agent.metadata.slug":               agent(func(a *agentv1.Agent) { a.Metadata.Slug = "\x00" }),
		"agent.spec.instructions":           agent(func(a *agentv1.Agent) { a.Spec.Instructions += "\x00" }),
		"agent.spec.tools[1]":               agent(func(a *agentv1.Agent) { a.Spec.Tools[1] = "gr\x00ep" }),
		`agent.metadata.labels["team"]`:     agent(func(a *agentv1.Agent) { a.Metadata.Labels["team"] = "\x00" }),
		`agent.metadata.labels["te\x00am"]`: agent(func(a *agentv1.Agent) { a.Metadata.Labels["te\x00am"] = "core" }),
		"message":                           &sessionv1.RunAgentRequest{Agent: "a", Message: "say\x00it"},
		"workspace.local.path":              &sessionv1.RunAgentRequest{Agent: "a", Message: "go", Workspace: &sessionv1.Workspace{Source: &sessionv1.Workspace_Local{Local: &sessionv1.LocalWorkspace{Path: "/a\x00"}}}},
		"idempotency_key":                   &sessionv1.CancelRequest{Id: "ses_1", IdempotencyKey: "\x00"},
		"filter":                            &resourcev1.ListRequest{Filter: "name = '\x00'"},
	} {
		err := v.Validate(m)
		f := fault.From(err)
		if err == nil || f.Reason != "VALIDATION_FAILED" || len(f.Violations) != 1 || f.Violations[0].Field != field || !strings.HasPrefix(f.Message, field) || strings.Contains(f.Message, "\x00") {
			t.Errorf("%s: got %v, violations %v", field, err, f.Violations)
		}
	}
	if err := v.Validate(agent(func(*agentv1.Agent) {})); err != nil {
		t.Errorf("a text without NUL is refused: %v", err)
	}
	if err := v.Validate(&artifactv1.CreateArtifactRequest{Name: "a", Content: []byte("\x00\x01")}); err != nil {
		t.Errorf("bytes are no text: %v", err)
	}
}
