// Package id makes the identifiers of Cadre: `<prefix>_<ulid>`, in lower case.
// Ids made by one process sort by the time they were made.
package id

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

var source = struct {
	sync.Mutex
	entropy ulid.MonotonicEntropy
}{entropy: *ulid.Monotonic(rand.Reader, 0)}

// New makes an id with the prefix, from the time now and 80 random bits. It is
// safe for concurrent use and panics only when the system has no randomness.
func New(prefix string) string {
	source.Lock()
	defer source.Unlock()
	u := ulid.MustNew(ulid.Timestamp(time.Now()), &source.entropy)
	return prefix + "_" + strings.ToLower(u.String())
}

// Prefix is what stands before the ulid, or "" when s has not the form of an id.
func Prefix(s string) string {
	prefix, rest, ok := strings.Cut(s, "_")
	if !ok || prefix == "" || len(rest) != ulid.EncodedSize {
		return ""
	}
	if _, err := ulid.ParseStrict(strings.ToUpper(rest)); err != nil {
		return ""
	}
	return prefix
}
