package temporal

import (
	"context"
	"crypto/rand"
	"crypto/subtle"

	"go.temporal.io/server/common/authorization"
)

// credential is what a client of the embedded server must show. There is a new
// one for each start and it never leaves the process, so that other programs on
// the machine find a port that answers nothing.
type credential string

const credentialHeader = "authorization"

func newCredential() credential { return bearer(rand.Text() + rand.Text()) }

// bearer is a credential that consists of an API key.
func bearer(key string) credential { return credential("Bearer " + key) }

// String hides it wherever it is printed by mistake.
func (credential) String() string { return "(hidden)" }

// GoString hides it too.
func (c credential) GoString() string { return c.String() }

// GetHeaders makes the credential a header of each call of a client.
func (c credential) GetHeaders(context.Context) (map[string]string, error) {
	return map[string]string{credentialHeader: string(c)}, nil
}

// AuthInfoRequired says that GetClaims wants calls without a header too.
func (c credential) AuthInfoRequired() bool { return false }

// GetClaims lets who shows the credential do everything, and all others nothing.
func (c credential) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	if subtle.ConstantTimeCompare([]byte(info.AuthToken), []byte(c)) != 1 {
		return &authorization.Claims{}, nil
	}
	return &authorization.Claims{System: authorization.RoleAdmin}, nil
}

// Authorize applies to all calls of the frontend, health checks included.
func (c credential) Authorize(_ context.Context, who *authorization.Claims, _ *authorization.CallTarget) (authorization.Result, error) {
	if who == nil || who.System != authorization.RoleAdmin {
		return authorization.Result{Decision: authorization.DecisionDeny}, nil
	}
	return authorization.Result{Decision: authorization.DecisionAllow}, nil
}
