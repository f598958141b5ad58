// Package operator recognises the one token of a server without accounts: who
// can read the file operator.token in the data folder is its operator.
package operator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
)

// ID is the operator's identity.
const ID = "operator"

// Verifier knows the digest of the token, not the token.
type Verifier struct{ digest [sha256.Size]byte }

// Open reads the data folder's token and creates it, readable by its owner
// alone, on the first start.
func Open(dir string) (*Verifier, error) {
	token, err := config.ReadToken(dir)
	if errors.Is(err, fs.ErrNotExist) {
		token, err = create(dir)
	}
	if err != nil {
		return nil, fault.New(fault.FailedPrecondition, "OPERATOR_TOKEN_UNREADABLE",
			"%s cannot be read; make it a file that only the server's user can read, or remove it to have a new one made", filepath.Join(dir, config.TokenFile)).Because(err)
	}
	return &Verifier{digest: sha256.Sum256([]byte(token))}, nil
}

func create(dir string) (string, error) {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", err
	}
	token := config.TokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	f, err := os.OpenFile(filepath.Join(dir, config.TokenFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, werr := f.WriteString(token + "\n")
	return token, errors.Join(werr, f.Sync(), f.Close())
}

// Verify claims tokens that begin with the operator's prefix.
func (v *Verifier) Verify(_ context.Context, token string) (*identity.Caller, error) {
	if !strings.HasPrefix(token, config.TokenPrefix) {
		return nil, nil
	}
	got := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(got[:], v.digest[:]) != 1 {
		return nil, fault.New(fault.Unauthenticated, "TOKEN_REFUSED",
			"this operator token is not this server's; read operator.token in the data folder of the server that you call")
	}
	return &identity.Caller{ID: ID, Class: identity.User, Name: "operator"}, nil
}
