package server_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	licensev1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/license/v1"
	serverv1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/platform/server/v1/serverv1connect"
	"github.com/cadre-dev/cadre/gen/go/rpc"
	"github.com/cadre-dev/cadre/internal/authz/operator"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/license"
	"github.com/cadre-dev/cadre/internal/pipeline"
	"github.com/cadre-dev/cadre/internal/server"
)

// judged answers one report, and notes for which instant it was asked.
type judged struct {
	report license.Report
	err    error
	at     *time.Time
}

func (j judged) Status(_ context.Context, now time.Time) (license.Report, error) {
	*j.at = now
	return j.report, j.err
}

// licenseDeps allow the operator.
func licenseDeps(t *testing.T, now time.Time) pipeline.Deps {
	t.Helper()
	v, err := pipeline.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Deps{Authz: operator.New("op"), Validator: v, Now: func() time.Time { return now }}
}

func licenseStatus(t *testing.T, p license.Provider, now time.Time) (*serverv1.LicenseStatus, error) {
	t.Helper()
	h, _ := serve(t, server.LicenseVerb(licenseDeps(t, now), p, slog.New(slog.DiscardHandler)))
	req := connect.NewRequest(&serverv1.GetLicenseStatusRequest{})
	req.Header().Set("Authorization", "Bearer "+token)
	res, err := serverv1connect.NewServerServiceClient(h.Client(), h.URL).GetLicenseStatus(t.Context(), req)
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

// C5: what the composed provider says is the answer, in each state, and for the instant that
// the answer names: the clock is the server's.
func TestTheLicenseStatusIsTheProviders(t *testing.T) {
	t.Parallel()
	noon := time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC)
	for _, want := range []license.Report{
		{State: license.StateAbsent},
		{State: license.StateValid, KeyID: "k", Claims: &licensev1.LicenseClaims{LicenseId: "lic_1"}},
		{State: license.StateExpiring, KeyID: "k", Claims: &licensev1.LicenseClaims{LicenseId: "lic_1"}},
		{State: license.StateGrace, KeyID: "k", Claims: &licensev1.LicenseClaims{LicenseId: "lic_1"}},
		{State: license.StateExpired, KeyID: "k", Claims: &licensev1.LicenseClaims{LicenseId: "lic_1"}},
		{State: license.StateInvalid, KeyID: "k", Reason: "changed"},
	} {
		t.Run(want.State.String(), func(t *testing.T) {
			t.Parallel()
			var asked time.Time
			got, err := licenseStatus(t, judged{report: want, at: &asked}, noon)
			if err != nil {
				t.Fatal(err)
			}
			if got.GetState() != want.State || got.GetKeyId() != want.KeyID || got.GetClaims().GetLicenseId() != want.Claims.GetLicenseId() {
				t.Errorf("it answers %v, want %v", got, want)
			}
			if !asked.Equal(noon) || !got.GetCheckedAt().AsTime().Equal(noon) {
				t.Errorf("judged for %s and told for %s", asked, got.GetCheckedAt().AsTime())
			}
		})
	}
}

// C4: without a provider the status is absent, whatever the edition, and never unimplemented.
func TestWithoutALicenseTheStatusIsAbsent(t *testing.T) {
	t.Parallel()
	for _, edition := range []string{"", server.OpenSource, "enterprise", "cloud"} {
		deps, log := licenseDeps(t, time.Now()), slog.New(slog.DiscardHandler)
		d, err := server.NewDispatcher([]pipeline.Verb{
			server.LicenseVerb(deps, license.Absent{}, log),
			server.InfoVerb(server.Facts{Edition: edition}, func(context.Context) []string { return nil }),
		}, []identity.Verifier{gate{}}, deps.Validator, log)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.InProcess(t.Context(), serverv1connect.ServerServiceGetLicenseStatusProcedure, &serverv1.GetLicenseStatusRequest{})
		if err != nil || got.(*serverv1.LicenseStatus).GetState() != license.StateAbsent {
			t.Errorf("the edition %q answers %v, %v", edition, got, err)
		}
	}
}

// A provider that fails, or that shows claims which nobody verified, is an error of the server.
func TestABrokenLicenseProvider(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]judged{
		"fails": {err: errors.New("sentinel")},
		"lies":  {report: license.Report{State: license.StateInvalid, KeyID: "k", Claims: &licensev1.LicenseClaims{}}},
	} {
		p.at = new(time.Time)
		if got, err := licenseStatus(t, p, time.Now()); connect.CodeOf(err) != connect.CodeInternal {
			t.Errorf("one that %s answers %v, %v", name, got, err)
		}
	}
}

// C34: this edition has no service for plans, subscriptions and licenses, neither to call nor
// to find by reflection.
func TestNoServiceOfBilling(t *testing.T) {
	t.Parallel()
	for _, m := range rpc.Methods {
		if strings.HasPrefix(string(m.Service), "cadre.billing.") {
			t.Errorf("%s is served", m.Procedure)
		}
	}
	h, _ := serve(t)
	for _, name := range []string{"cadre.billing.plan.v1.PlanService", "cadre.billing.subscription.v1.SubscriptionService", "cadre.billing.license.v1.LicenseService"} {
		res, err := h.Client().Post(h.URL+"/"+name+"/Get", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode < 400 {
			t.Errorf("%s answers %s", name, res.Status)
		}
	}
}
