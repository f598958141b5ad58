package app

import (
	"context"

	"github.com/cadre-dev/cadre/internal/identity/operator"
)

// ownerKey is the fact of the database that the organization `default` was given to
// somebody, and to whom.
const ownerKey = "default_owner"

// grantOwner gives the organization `default` to the operator, once in a database's
// life, and answers whose it is: a grant that somebody changed since is not made anew.
func (a *App) grantOwner(ctx context.Context) (string, error) {
	return a.store.InitBootState(ctx, ownerKey, operator.ID)
}
