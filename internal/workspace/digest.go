package workspace

import (
	"crypto/sha256"
	"encoding/hex"
)

// Sum is the digest of a file with this content: what Digest would give.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
