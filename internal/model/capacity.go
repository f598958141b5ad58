package model

import (
	"fmt"
	"time"
)

// NoCapacity is an ability of the seam: a provider with a pool of credentials answers it,
// from Open or Ask and before any byte of a request left, when none of them is free and it
// is known when one will be. A turn then waits until that time, which uses up none of its
// tries. Which credential serves a request, and that a refused one is set aside for
// another, is the provider's own business: it answers NoCapacity only when none is left.
type NoCapacity struct {
	Pool  string    // its name, for people
	Until time.Time // when the provider has said that a credential is free again
	Err   error     // why there is none; may be nil
}

// Error names the pool and the time.
func (e *NoCapacity) Error() string {
	return fmt.Sprintf("no credential of the pool %q is free until %s", e.Pool, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap gives the cause.
func (e *NoCapacity) Unwrap() error { return e.Err }
