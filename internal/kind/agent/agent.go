// Package agent is the noun of who answers: a declared blueprint of
// instructions, model, tools and limits.
package agent

import (
	"context"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/search"
)

// Kind is what the noun registers.
func Kind() pipeline.Kind {
	return pipeline.Kind{
		Kind: resourcev1.ResourceKind_agent, New: func() proto.Message { return &agentv1.Agent{} },
		Index: []string{"spec.model"}, Declared: true, Listed: true, Deletable: true,
		Check: check, Search: search.Extract(1, content),
	}
}

// content is what agents are found by.
func content(a *agentv1.Agent) search.Content {
	spec := a.GetSpec()
	text := append([]string{spec.GetInstructions(), spec.GetModel()}, spec.GetTools()...)
	return search.Content{Description: spec.GetDescription(), Text: strings.Join(text, "\n")}
}

// check refuses tools that this server does not have and models that no provider or
// host has. Whether the model can be used, since a key is set or a file is there, is
// seen when it is.
func check(ctx context.Context, d pipeline.Deps, r *pipeline.Request) error {
	spec := r.Desired.(*agentv1.Agent).GetSpec()
	for i, name := range spec.GetTools() {
		if _, ok := d.Tools.Tool(name); !ok {
			known := d.Tools.Names()
			f := fault.New(fault.InvalidArgument, "UNKNOWN_TOOL", "spec.tools: there is no tool named %q; the tools are %s.%s",
				name, strings.Join(known, ", "), near.Hint(name, known))
			f.Violations = []fault.Violation{{Field: "spec.tools[" + strconv.Itoa(i) + "]", Rule: "agent.tools.known", Text: "must be a tool of this server"}}
			return f
		}
	}
	if spec.GetModel() == "" {
		return nil
	}
	if err := unknownModel(ctx, d, spec.GetModel()); err != nil {
		f := *fault.From(err)
		f.Message = "spec.model: " + f.Message
		f.Violations = []fault.Violation{{Field: "spec.model", Rule: "agent.model.name", Text: "must name a model"}}
		return &f
	}
	return nil
}

// unknownModel is nil for a model that can be used, now or once something is set.
func unknownModel(ctx context.Context, d pipeline.Deps, name string) error {
	_, err := d.Models.Open(ctx, name)
	switch fault.ReasonOf(err) {
	case "MODEL_NAME_INVALID", "MODEL_PROVIDER_UNKNOWN", "MODEL_HOST_UNKNOWN":
		return err
	}
	return nil
}
