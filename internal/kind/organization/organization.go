// Package organization is the noun of tenancy: every other resource belongs to
// an organization, and one that still owns something cannot be deleted.
package organization

import (
	"context"

	"google.golang.org/protobuf/proto"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	organizationv1 "github.com/cadre-dev/cadre/gen/go/cadre/tenancy/organization/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/store"
)

// Kind is what the noun registers.
func Kind() pipeline.Kind {
	return pipeline.Kind{
		Kind: resourcev1.ResourceKind_organization, New: func() proto.Message { return &organizationv1.Organization{} },
		Declared: true, Listed: true, Deletable: true,
		CheckDelete: checkDelete, Search: search.Extract(1, content),
	}
}

// content is what organizations are found by.
func content(o *organizationv1.Organization) search.Content {
	return search.Content{Description: o.GetSpec().GetDescription()}
}

// Default is the organization that the first start of a server creates.
func Default() *organizationv1.Organization {
	o := &organizationv1.Organization{
		Metadata: &resourcev1.Metadata{Slug: resource.DefaultOrg, Name: "Default"},
		Spec:     &organizationv1.OrganizationSpec{Description: "Used when a request names no organization."},
	}
	resource.SetIdentity(o, resourcev1.ResourceKind_organization)
	return o
}

func checkDelete(ctx context.Context, d pipeline.Deps, r *pipeline.Request) error {
	if r.Row.ID == resource.DefaultOrg {
		return fault.New(fault.FailedPrecondition, "DEFAULT_ORGANIZATION", "the organization %s cannot be deleted: it is used when none is named", resource.DefaultOrg)
	}
	for _, k := range resource.Kinds() {
		if resource.Meta(k).GetPrefix() == "" {
			continue
		}
		page, err := d.Store.List(ctx, store.Query{Kind: k, Org: r.Row.ID, Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Rows) > 0 {
			return fault.New(fault.FailedPrecondition, "ORGANIZATION_NOT_EMPTY", "the organization %s still owns %s, such as %s; delete them first",
				r.Row.ID, resource.Meta(k).GetPlural(), page.Rows[0].Ref()).With("kind", resource.MustKindName(k))
		}
	}
	return nil
}
