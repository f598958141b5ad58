// Package license is the seam to what an installation is entitled to. A Provider says how
// the license stands at an instant that it is given: it keeps no clock, so that the answer
// and the time of the answer are of one instant.
//
// Promise: claims are told only of a ticket whose signature was verified; a key is named in
// every state but absent; a ticket that cannot be trusted is a state and no error.
package license

import (
	"context"
	"time"

	licensev1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/license/v1"
	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/internal/fault"
)

// State says how a license stands.
type State = serverv1.LicenseState

// The states.
const (
	StateAbsent   = serverv1.LicenseState_absent   // none is asked for
	StateValid    = serverv1.LicenseState_valid    //
	StateExpiring = serverv1.LicenseState_expiring // valid, and soon no more
	StateGrace    = serverv1.LicenseState_grace    // expired, and what it grants goes on for a while
	StateExpired  = serverv1.LicenseState_expired  //
	StateInvalid  = serverv1.LicenseState_invalid  // there is a ticket that cannot be trusted
)

// UnknownKey is the key id of a ticket that cannot even be read.
const UnknownKey = "unknown"

// Report is a Provider's answer.
type Report struct {
	State  State
	Claims *licensev1.LicenseClaims // nil unless the signature was verified
	KeyID  string                   // that the ticket names; "" when the state is absent
	Reason string                   // why the state is invalid, for the log and the command line; else ""
}

// Provider verifies what this installation was given. Safe for concurrent use.
type Provider interface {
	// Status says how the license stands at now. An error is a failure of the provider, and
	// never a bad ticket.
	Status(ctx context.Context, now time.Time) (Report, error)
}

// Absent is the answer of a composition that asks for no license.
type Absent struct{}

// Status is absent.
func (Absent) Status(context.Context, time.Time) (Report, error) {
	return Report{State: StateAbsent}, nil
}

// ErrReport is a report that breaks the seam's promise.
var ErrReport = fault.New(fault.Internal, "LICENSE_REPORT_BROKEN", "the license provider answered what cannot be")

// Check refuses a report that breaks the seam's promise, so that no composition can show
// claims that nobody verified.
func (r Report) Check() error {
	switch {
	case r.State < StateAbsent || r.State > StateInvalid:
		return ErrReport.Saying("the license provider answered the state %d, which there is not", r.State)
	case r.Claims != nil && (r.State == StateAbsent || r.State == StateInvalid):
		return ErrReport.Saying("the license provider answered claims in the state %s, in which nothing was verified", r.State)
	case r.Claims == nil && r.State != StateAbsent && r.State != StateInvalid:
		return ErrReport.Saying("the license provider answered the state %s without claims", r.State)
	case (r.KeyID == "") != (r.State == StateAbsent):
		return ErrReport.Saying("the license provider answered the key %q in the state %s", r.KeyID, r.State)
	}
	return nil
}
