package server

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	modelv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/model/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/model/v1/modelv1connect"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/pipeline"
)

// Catalogue is the list of models as the contract shows it.
type Catalogue interface {
	// Models are all entries at a moment, without what only Open can tell.
	Models(now time.Time) []*modelv1.Model
	// Default is the first default model that can be used; "" when there is none.
	Default(usable func(name string) bool) string
}

// ModelsVerb answers ModelService.List.
func ModelsVerb(d pipeline.Deps, c Catalogue) pipeline.Verb {
	return pipeline.Verb{
		Procedure: modelv1connect.ModelServiceListProcedure, Permission: "view", Output: func() proto.Message { return &modelv1.ListModelsResponse{} },
		Steps: []pipeline.Step{
			pipeline.Authorize(d, "view", resourcev1.ResourceKind_agent), pipeline.Validate(d),
			{Name: "list models", Do: func(ctx context.Context, r *pipeline.Request) error {
				if p := r.Message.(*modelv1.ListModelsRequest).GetProvider(); p != "" && !slices.Contains(d.Models.Names(), p) {
					return fault.New(fault.InvalidArgument, "MODEL_PROVIDER_UNKNOWN", "no model provider is called %q.%s They are: %s", p, near.Hint(p, d.Models.Names()), near.List(d.Models.Names()))
				}
				r.Answer = listModels(ctx, d, c, r.Message.(*modelv1.ListModelsRequest))
				return nil
			}},
		},
	}
}

func listModels(ctx context.Context, d pipeline.Deps, c Catalogue, in *modelv1.ListModelsRequest) *modelv1.ListModelsResponse {
	out := &modelv1.ListModelsResponse{}
	for _, m := range c.Models(d.Now()) {
		m.Needs = needs(ctx, d, m.GetName())
		m.Usable = m.GetNeeds() == ""
		provider, _, _ := strings.Cut(strings.ReplaceAll(m.GetName(), ":", "/"), "/")
		if (in.GetProvider() == "" || in.GetProvider() == provider) && (m.GetUsable() || !in.GetUsableOnly()) {
			out.Models = append(out.Models, m)
		}
	}
	out.DefaultModel = c.Default(func(name string) bool { return needs(ctx, d, name) == "" })
	return out
}

// needs is what to do before a model can be used. A name with `*` is tried with
// some id: what a provider needs does not depend on it. Files are not looked for.
func needs(ctx context.Context, d pipeline.Deps, name string) string {
	if host, wild := strings.CutSuffix(name, "*"); wild {
		if strings.HasSuffix(host, ":") {
			return ""
		}
		name = host + "any"
	}
	if _, err := d.Models.Open(ctx, name); err != nil {
		return fault.From(err).Message
	}
	return ""
}
