// Package operator is the authorization of a server without accounts: the
// operator and Cadre's own parts may do everything, nobody else anything.
package operator

import (
	"context"

	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/identity"
)

// Authorizer allows one identity.
type Authorizer struct{ id string }

// New makes an authorizer that allows the identity with this id.
func New(id string) *Authorizer { return &Authorizer{id: id} }

// Check allows the operator and in-process callers.
func (a *Authorizer) Check(_ context.Context, q authz.Question) authz.Decision {
	if q.Caller.Class == identity.Internal || q.Caller.ID == a.id {
		return authz.Allow
	}
	return authz.Deny
}
