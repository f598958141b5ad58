package lane

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
)

// MintRequest is what a credential is made for.
type MintRequest struct {
	Scope     sandbox.Scope
	Session   string // "" for a workflow's sandbox
	Execution string
	Org       string
	Caller    string // the identity that the run is for
}

// Mint makes the credentials that sandboxes show. Safe for concurrent use.
type Mint interface {
	Mint(ctx context.Context, r MintRequest) (string, error)
}

// RunTokenPrefix tells the tokens of runs from all others.
const RunTokenPrefix = "cdr_run_"

// RunTokenTime is how long one is good.
const RunTokenTime = 4 * time.Hour

// ErrBadToken: the token is none of this server's, was altered, or is too old.
var ErrBadToken = fault.New(fault.Unauthenticated, "RUN_TOKEN_REFUSED", "the token of the run is not valid")

// RunTokens mints and checks tokens of one execution each, whoever the run is for: the
// execution and an end, signed with HMAC-SHA256.
type RunTokens struct {
	Key []byte
	Now func() time.Time
}

var _ Mint = (*RunTokens)(nil)

// Mint makes the execution's token.
func (t *RunTokens) Mint(_ context.Context, r MintRequest) (string, error) {
	if r.Execution == "" {
		return "", fault.New(fault.Internal, "MINT_WITHOUT_EXECUTION", "a run's token needs its execution")
	}
	claim := r.Execution + "." + strconv.FormatInt(t.Now().Add(RunTokenTime).Unix(), 10)
	return RunTokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(claim)) + "." + base64.RawURLEncoding.EncodeToString(t.sign(claim)), nil
}

// Execution answers whose token it is.
func (t *RunTokens) Execution(token string) (string, error) {
	body, ok := strings.CutPrefix(token, RunTokenPrefix)
	payload, signature, cut := strings.Cut(body, ".")
	claim, err := base64.RawURLEncoding.DecodeString(payload)
	sum, serr := base64.RawURLEncoding.DecodeString(signature)
	if !ok || !cut || err != nil || serr != nil || !hmac.Equal(sum, t.sign(string(claim))) {
		return "", ErrBadToken
	}
	execution, end, _ := strings.Cut(string(claim), ".")
	until, err := strconv.ParseInt(end, 10, 64)
	if err != nil || !t.Now().Before(time.Unix(until, 0)) {
		return "", ErrBadToken.Saying("the token of the run %s is too old", execution)
	}
	return execution, nil
}

// sign digests a claim; the word before it keeps the key's other uses apart.
func (t *RunTokens) sign(claim string) []byte {
	mac := hmac.New(sha256.New, t.Key)
	mac.Write([]byte("run-token\n" + claim))
	return mac.Sum(nil)
}
