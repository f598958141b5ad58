package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
)

var shortScopes = map[Scope]string{Session: "ses", Workflow: "wfx", Connect: "mcp"}

// Name is what a sandbox is called in a world of containers or folders: short, lower
// case, without anything of the id but its digest.
func Name(k Key) string {
	sum := sha256.Sum256([]byte(k.ID))
	return "sbx-" + shortScopes[k.Scope] + "-" + hex.EncodeToString(sum[:6])
}
