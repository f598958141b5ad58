// Package discovery finds resources of every searchable kind, and what was said in
// turns. What is searchable is what the kinds declare; how it is found is package
// search's. It answers by the pipeline's steps.
package discovery

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	searchv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/search/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/platform/search/v1/searchv1connect"
	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/near"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/search"
)

const (
	orgKind    = resourcev1.ResourceKind_organization
	everywhere = "*" // all organizations
)

// Verbs are those of the service.
func Verbs(d pipeline.Deps) []pipeline.Verb {
	return []pipeline.Verb{{
		Procedure: searchv1connect.SearchServiceSearchProcedure, Permission: "view", Output: func() proto.Message { return &searchv1.SearchResponse{} },
		Steps: []pipeline.Step{authorize(d), pipeline.Validate(d), build(d), find(d)},
	}}
}

// authorize asks for the right to see the organization that is searched.
func authorize(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "authorize", Do: func(ctx context.Context, r *pipeline.Request) error {
		r.Org = r.Message.(*searchv1.SearchRequest).GetOrg()
		if r.Org == "" {
			r.Org = resource.DefaultOrg
		}
		return authz.Require(ctx, d.Authz, authz.Question{Caller: r.Caller, Permission: "view", Kind: orgKind, Org: r.Org, ID: r.Org})
	}}
}

// build makes the criteria. An organization that is not there is refused: a slip of the
// pen would read as nothing found.
func build(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "build criteria", Do: func(ctx context.Context, r *pipeline.Request) error {
		in := r.Message.(*searchv1.SearchRequest)
		c := search.Criteria{
			Query: in.GetQuery(), Page: int(in.GetPage()), Size: int(in.GetPageSize()),
			ExcludePublic: in.GetExcludePublic(), CrossOrgPublic: in.GetCrossOrgPublic(),
		}
		if r.Org != everywhere {
			if _, err := pipeline.Find(ctx, d, orgKind, resource.Ref{ID: r.Org}); err != nil {
				return err
			}
			c.Org = r.Org
		}
		for _, word := range in.GetKinds() {
			kind, err := kindNamed(word)
			if err != nil {
				return err
			}
			c.Kinds = append(c.Kinds, kind)
		}
		r.State = c
		return nil
	}}
}

// kindNamed is the storage name of a kind. Whether it is searchable is seen later: one
// that is not finds nothing.
func kindNamed(word string) (string, error) {
	if k, ok := resource.ParseKind(word); ok {
		return resource.MustKindName(k), nil
	}
	var known []string
	for _, k := range resource.Kinds() {
		known = append(known, resource.MustKindName(k), resource.Meta(k).GetPlural())
	}
	f := fault.New(fault.InvalidArgument, "UNKNOWN_KIND", "there is no kind %q.%s", word, near.Hint(strings.ToLower(word), known))
	f.Violations = []fault.Violation{{Field: "kinds", Rule: "search.kinds.known", Text: "must name kinds, such as agent"}}
	return "", f
}

// find asks the index.
func find(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "find", Do: func(ctx context.Context, r *pipeline.Request) error {
		res, err := d.Search.Search(ctx, r.State.(search.Criteria))
		if err != nil {
			return err
		}
		out := &searchv1.SearchResponse{Total: res.Total, Counts: res.Counts, Page: int32(res.Page), PageSize: int32(res.Size), More: res.More}
		for _, h := range res.Hits {
			out.Hits = append(out.Hits, &searchv1.SearchHit{
				Kind: h.Kind, Id: h.ID, Org: h.Org, Slug: h.Slug, Name: h.Name, Description: h.Description, Tags: h.Tags,
				Visibility: resourcev1.Visibility(resourcev1.Visibility_value[h.Visibility]), CreatedAt: timestamppb.New(h.CreatedAt),
				Score: h.Score, Snippet: h.Snippet, SessionId: h.Session,
			})
		}
		r.Answer = out
		return nil
	}}
}
