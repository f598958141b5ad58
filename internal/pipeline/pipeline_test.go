package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/store"
)

func TestTheFirstFailingStepEndsTheRequest(t *testing.T) {
	t.Parallel()
	var ran []string
	step := func(name string, err error) pipeline.Step {
		return pipeline.Step{Name: name, Do: func(context.Context, *pipeline.Request) error {
			ran = append(ran, name)
			return err
		}}
	}
	broken := errors.New("broken")
	v := pipeline.Verb{Procedure: "/x/Y", Steps: []pipeline.Step{step("one", nil), step("two", broken), step("three", nil)}}
	if err := v.Run(t.Context(), &pipeline.Request{}); !errors.Is(err, broken) || !slices.Equal(ran, []string{"one", "two"}) {
		t.Fatalf("got %v after %v", err, ran)
	}
	if got := v.Sentence(); got != "/x/Y: one, two, three." {
		t.Fatalf("the sentence is %q", got)
	}
}

func TestAReplayAnswersWithTheFirstAnswer(t *testing.T) {
	t.Parallel()
	first := &agentv1.Agent{Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "a"}}
	data, err := proto.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	v := pipeline.Verb{Output: func() proto.Message { return &agentv1.Agent{} }, Steps: []pipeline.Step{
		{Name: "persist", Do: func(context.Context, *pipeline.Request) error { return &store.Replayed{Answer: data} }},
		{Name: "after", Do: func(context.Context, *pipeline.Request) error { return errors.New("must not run") }},
	}}
	r := &pipeline.Request{}
	if err := v.Run(t.Context(), r); err != nil || !proto.Equal(r.Answer, first) {
		t.Fatalf("got %v, %v", r.Answer, err)
	}
}

func TestValidationListsEveryViolation(t *testing.T) {
	t.Parallel()
	v, err := pipeline.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	err = v.Validate(&agentv1.CreateAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agnt", Metadata: &resourcev1.Metadata{Slug: "Bad Slug"},
		Spec: &agentv1.AgentSpec{Instructions: "short", Tools: []string{"read", "read"}},
	}})
	f := fault.From(err)
	if f.Code != fault.InvalidArgument || f.Reason != "VALIDATION_FAILED" {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, violation := range f.Violations {
		got = append(got, violation.Field+" "+violation.Rule)
	}
	slices.Sort(got)
	want := []string{"agent.kind string.const", "agent.metadata.slug string.pattern", "agent.spec.instructions string.min_len", "agent.spec.tools repeated.unique"}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestFieldsThatNobodyKnowsAreRefused(t *testing.T) {
	t.Parallel()
	v, err := pipeline.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	spec := &agentv1.AgentSpec{}
	// Field 500 of the wire, which the contract does not have, deep inside.
	spec.ProtoReflect().SetUnknown([]byte{0xa2, 0x1f, 0x01, 'x'})
	err = v.Validate(&agentv1.CreateAgentRequest{Agent: &agentv1.Agent{Spec: spec}})
	if fault.ReasonOf(err) != "UNKNOWN_FIELD" {
		t.Fatalf("got %v, want UNKNOWN_FIELD", err)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	was := &agentv1.Agent{Metadata: &resourcev1.Metadata{Id: "agt_1", Slug: "a", Labels: map[string]string{"team": "core", "old": "x"}},
		Spec: &agentv1.AgentSpec{Instructions: "one", Tools: []string{"read"}, Limits: &agentv1.AgentLimits{MaxModelCalls: 3}}}
	is := &agentv1.Agent{Metadata: &resourcev1.Metadata{Slug: "a", Labels: map[string]string{"team": "edge"}},
		Spec: &agentv1.AgentSpec{Instructions: "two", Tools: []string{"read", "grep"}}}
	want := []string{
		`metadata.labels[old]: "x" -> (unset)`,
		`metadata.labels[team]: "core" -> "edge"`,
		`spec.instructions: "one" -> "two"`,
		`spec.limits.max_model_calls: "3" -> (unset)`,
		`spec.tools[1]: (unset) -> "grep"`,
	}
	if got := pipeline.Changes(was, is); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := pipeline.Changes(was, was); got != nil {
		t.Errorf("no change gave %q", got)
	}
}
