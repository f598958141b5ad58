// Package usage answers what model requests used and cost. The ledger has one row
// per request; here they are only added up. An open request counts at the upper
// bound that is held for it.
package usage

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	usagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/usage/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/usage/v1/usagev1connect"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

const (
	agentKind = resourcev1.ResourceKind_agent
	orgKind   = resourcev1.ResourceKind_organization

	everywhere    = "*" // all organizations
	defaultGroups = 100
)

// keys are what the contract's words mean to the store.
var keys = map[usagev1.GroupBy]store.UsageKey{
	usagev1.GroupBy_group_by_unspecified: store.UsageByAgent,
	usagev1.GroupBy_organization:         store.UsageByOrg,
	usagev1.GroupBy_agent:                store.UsageByAgent,
	usagev1.GroupBy_session:              store.UsageBySession,
	usagev1.GroupBy_execution:            store.UsageByExecution,
	usagev1.GroupBy_model:                store.UsageByModel,
	usagev1.GroupBy_day:                  store.UsageByDay,
}

// Verbs are those of the service.
func Verbs(d pipeline.Deps) []pipeline.Verb {
	return []pipeline.Verb{{
		Procedure: usagev1connect.UsageServiceSummarizeProcedure, Permission: "view", Output: func() proto.Message { return &usagev1.SummarizeUsageResponse{} },
		Steps: []pipeline.Step{authorize(d), pipeline.Validate(d), build(d), sum(d)},
	}}
}

// authorize asks for the right to see the organization that the request is about.
func authorize(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "authorize", Do: func(ctx context.Context, r *pipeline.Request) error {
		in := r.Message.(*usagev1.SummarizeUsageRequest)
		r.Org = in.GetOrg()
		if r.Org == "" {
			r.Org = resource.DefaultOrg
		}
		return authz.Require(ctx, d.Authz, authz.Question{Caller: r.Caller, Permission: "view", Kind: orgKind, Org: r.Org, ID: r.Org})
	}}
}

// exists refuses what is not there: a slip of the pen would read as no usage at all.
// What was deleted is still found by its id.
func exists(ctx context.Context, d pipeline.Deps, q store.UsageQuery) error {
	if q.Org != "" {
		if _, err := pipeline.Find(ctx, d, orgKind, resource.Ref{ID: q.Org}); err != nil {
			return err
		}
	}
	return nil
}

// build makes the query.
func build(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "build query", Do: func(ctx context.Context, r *pipeline.Request) error {
		in := r.Message.(*usagev1.SummarizeUsageRequest)
		q := store.UsageQuery{By: keys[in.GetBy()], Org: r.Org, Session: in.GetSessionId(), Execution: in.GetExecutionId(), Limit: int(in.GetLimit())}
		if r.Org == everywhere {
			q.Org = ""
		}
		if q.Limit == 0 {
			q.Limit = defaultGroups
		}
		if in.GetSince() != nil {
			q.Since = in.GetSince().AsTime()
		}
		if in.GetUntil() != nil {
			q.Until = in.GetUntil().AsTime()
		}
		if in.GetSince() != nil && in.GetUntil() != nil && !q.Since.Before(q.Until) {
			return fault.New(fault.InvalidArgument, "BAD_PERIOD", "the period ends at %s, which is not after its beginning at %s", q.Until, q.Since)
		}
		var err error
		if q.Agent, err = agentID(ctx, d, in.GetAgent(), r.Org); err != nil {
			return err
		}
		r.State = q
		if err := exists(ctx, d, q); err != nil {
			return err
		}
		return ids(q)
	}}
}

// agentID finds an agent. One that was deleted is found by its id alone.
func agentID(ctx context.Context, d pipeline.Deps, ref, org string) (string, error) {
	if ref == "" || id.Prefix(ref) == resource.Meta(agentKind).GetPrefix() {
		return ref, nil
	}
	if org == everywhere {
		org = resource.DefaultOrg
	}
	parsed, err := resource.ParseRef(agentKind, ref, org)
	if err != nil {
		return "", err
	}
	row, err := pipeline.Find(ctx, d, agentKind, parsed)
	return row.ID, err
}

// ids refuses ids that cannot be right.
func ids(q store.UsageQuery) error {
	for what, want := range map[string]struct {
		id   string
		kind resource.Kind
	}{
		"session":   {q.Session, resourcev1.ResourceKind_session},
		"execution": {q.Execution, resourcev1.ResourceKind_agent_execution},
	} {
		if prefix := resource.Meta(want.kind).GetPrefix(); want.id != "" && id.Prefix(want.id) != prefix {
			return fault.New(fault.InvalidArgument, "BAD_REFERENCE", "%q is no id of a %s: one begins with %s_", want.id, what, prefix)
		}
	}
	return nil
}

// sum asks the store and names agents as people do.
func sum(d pipeline.Deps) pipeline.Step {
	return pipeline.Step{Name: "add up", Do: func(ctx context.Context, r *pipeline.Request) error {
		q := r.State.(store.UsageQuery)
		sums, err := d.Store.Usage(ctx, q)
		if err != nil {
			return err
		}
		if err := known(ctx, d, q, sums.Total.Calls); err != nil {
			return err
		}
		answer := &usagev1.SummarizeUsageResponse{Total: group(sums.Total), Truncated: sums.More}
		for _, s := range sums.Groups {
			g := group(s)
			if q.By == store.UsageByAgent {
				g.Id = g.GetKey()
				if g.Key, err = nameOf(ctx, d, g.GetId()); err != nil {
					return err
				}
			}
			answer.Groups = append(answer.Groups, g)
		}
		r.Answer = answer
		return nil
	}}
}

// known refuses a session or an execution that is not there and that no request was ever
// made for.
func known(ctx context.Context, d pipeline.Deps, q store.UsageQuery, calls int64) error {
	if calls > 0 {
		return nil
	}
	for kind, one := range map[resource.Kind]string{resourcev1.ResourceKind_session: q.Session, resourcev1.ResourceKind_agent_execution: q.Execution} {
		if one == "" {
			continue
		}
		if _, err := d.Store.Get(ctx, kind, one); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is an agent's slug, or its id once it is deleted.
func nameOf(ctx context.Context, d pipeline.Deps, agent string) (string, error) {
	row, err := d.Store.Get(ctx, agentKind, agent)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return agent, nil
	case err != nil:
		return "", err
	case row.Org == resource.DefaultOrg:
		return row.Slug, nil
	}
	return row.Ref(), nil
}

func group(s store.UsageSum) *usagev1.UsageGroup {
	g := &usagev1.UsageGroup{Key: s.Key, ModelCalls: s.Calls, OpenCalls: s.Open, Usage: s.Usage}
	if !s.First.IsZero() {
		g.FirstAt, g.LastAt = timestamppb.New(s.First), timestamppb.New(s.Last)
	}
	return g
}
