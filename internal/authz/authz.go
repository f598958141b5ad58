// Package authz is the seam that decides what a caller may do with one object.
// A decision is about the object, never about a page of them.
package authz

import (
	"context"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/resource"
)

// Decision is the answer.
type Decision string

// The decisions. Unavailable is a failure and never a denial.
const (
	Allow       Decision = "allow"
	Deny        Decision = "deny"
	NotFound    Decision = "not_found" // the caller must not learn that it exists
	Unavailable Decision = "unavailable"
)

// Question asks whether a caller may do something.
type Question struct {
	Caller     identity.Caller
	Permission string // `view`, `create`, `edit`, `delete`, `execute`
	Kind       resource.Kind
	Org        string
	ID         string // "" when the question is about the kind in the organization
}

// Authorizer decides. Safe for concurrent use.
type Authorizer interface {
	Check(ctx context.Context, q Question) Decision
}

// Require turns a decision into an error: nil for Allow.
func Require(ctx context.Context, a Authorizer, q Question) error {
	switch a.Check(ctx, q) {
	case Allow:
		return nil
	case NotFound:
		return resource.NotFound(q.Kind, q.ID)
	case Unavailable:
		return fault.New(fault.Internal, "AUTHORIZATION_UNAVAILABLE", "internal error")
	default:
		return fault.New(fault.PermissionDenied, "PERMISSION_DENIED", "%s may not %s %s here", q.Caller.ID, q.Permission, resource.Meta(q.Kind).GetPlural()).
			With("permission", q.Permission).With("kind", resource.MustKindName(q.Kind))
	}
}
