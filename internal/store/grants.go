package store

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// PendingAuthorizationKept is how long somebody has to come back from a provider.
const PendingAuthorizationKept = 10 * time.Minute

// GrantKey is whose grant it is, and for what.
type GrantKey struct {
	Identity string
	Resource string // id of the resource that it is used for, an MCP server
	Org      string
}

// Grant is what a provider granted. The sealed bytes are opaque here: whoever
// writes them seals them.
type Grant struct {
	GrantKey
	Sealed    []byte
	ExpiresAt time.Time // of the access that it gives; zero when the provider named none
	UpdatedAt time.Time
}

// Grants keeps OAuth grants and the authorizations that people have begun.
type Grants interface {
	// PutGrant stores a grant, replacing the one with its key.
	PutGrant(ctx context.Context, g Grant) error
	// Grant reads one. ErrNoGrant.
	Grant(ctx context.Context, k GrantKey) (Grant, error)
	// DeleteGrant removes one; no error when there is none.
	DeleteGrant(ctx context.Context, k GrantKey) error
	// DeleteGrantsOf removes every identity's grant for a resource, by an index, and
	// counts them.
	DeleteGrantsOf(ctx context.Context, resource, org string) (int64, error)
	// PutPendingAuthorization remembers an authorization under its state for
	// PendingAuthorizationKept from now, and forgets those whose time is over. A state that is taken is
	// refused: STATE_TAKEN.
	PutPendingAuthorization(ctx context.Context, state string, sealed []byte, now time.Time) error
	// TakePendingAuthorization answers what was kept under a state and removes it: of
	// many calls one gets it. ErrNoPendingAuthorization when it was taken, has expired, or never was.
	TakePendingAuthorization(ctx context.Context, state string, now time.Time) (sealed []byte, err error)
}

// The faults of grants.
var (
	ErrNoGrant                = fault.New(fault.NotFound, "NO_GRANT", "nothing was granted; connect it first")
	ErrNoPendingAuthorization = fault.New(fault.NotFound, "NO_PENDING_AUTHORIZATION", "this authorization was used, has expired, or was never begun; begin again")
	ErrStateTaken             = fault.New(fault.AlreadyExists, "STATE_TAKEN", "an authorization with this state is pending; choose another state")
)
