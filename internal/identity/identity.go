// Package identity is the seam that says who asks. A Verifier claims a token
// and names its caller, refuses it, or passes it on to the next one. A token
// that nobody claims is refused: there is no anonymous caller.
package identity

import (
	"context"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Class says what kind of caller it is. Compositions add their own words.
type Class string

// The classes that Cadre itself knows.
const (
	User     Class = "user"
	Machine  Class = "machine"
	Runner   Class = "runner"
	Internal Class = "internal" // Cadre's own parts, never from the wire
)

// Caller is who asks.
type Caller struct {
	ID    string // the identity: stands in audits and scopes idempotency keys
	Class Class
	Name  string // for people
}

// Verifier recognises tokens of one kind. Safe for concurrent use.
type Verifier interface {
	// Verify answers the caller of a token that it claims, (nil, nil) for a token of
	// another kind, and an Unauthenticated fault for one that it claims and refuses.
	Verify(ctx context.Context, token string) (*Caller, error)
}

// Errors of the seam, matched by code and reason.
var (
	// ErrNoToken: the request came without one.
	ErrNoToken = fault.New(fault.Unauthenticated, "NO_TOKEN",
		"no token: send `Authorization: Bearer …` with the content of operator.token in the server's data folder")
	// ErrUnclaimed: no verifier knows tokens of this form.
	ErrUnclaimed = fault.New(fault.Unauthenticated, "TOKEN_UNKNOWN", "no configured verifier accepts this token")
)

// Verify asks the verifiers in order.
func Verify(ctx context.Context, verifiers []Verifier, token string) (Caller, error) {
	if token == "" {
		return Caller{}, ErrNoToken
	}
	for _, v := range verifiers {
		c, err := v.Verify(ctx, token)
		if err != nil {
			return Caller{}, err
		}
		if c != nil {
			return *c, nil
		}
	}
	return Caller{}, ErrUnclaimed
}

type key struct{}

// With puts the caller into a context.
func With(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// From reads the caller of a context; the zero Caller when there is none.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(key{}).(Caller)
	return c
}
