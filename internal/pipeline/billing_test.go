package pipeline

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	entitlementsv1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/entitlements/v1"
	licensev1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/license/v1"
	planv1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/plan/v1"
	subscriptionv1 "github.com/cadre-dev/cadre/gen/go/cadre/billing/subscription/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
)

func plan(instrument planv1.PlanInstrument, terms *planv1.PlanTerms) *planv1.Plan {
	return &planv1.Plan{
		ApiVersion: "billing.cadre.dev/v1", Kind: "Plan", Metadata: &resourcev1.Metadata{Slug: "harbor"},
		Spec: &planv1.PlanSpec{Instrument: instrument, Terms: terms, Entitlements: &entitlementsv1.Entitlements{}},
	}
}

func offered(terms *planv1.PlanTerms) proto.Message {
	return plan(planv1.PlanInstrument_subscription, terms)
}

func licensed(terms *planv1.PlanTerms) proto.Message {
	return plan(planv1.PlanInstrument_license, terms)
}

func on(year int, month time.Month, day int) *timestamppb.Timestamp {
	return timestamppb.New(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

func customer(email string) *licensev1.Customer {
	return &licensev1.Customer{Id: "cus_9", DisplayName: "Harbour Office", ContactEmail: email}
}

// claims are good ones, changed.
func claims(change func(*licensev1.LicenseClaims)) proto.Message {
	c := &licensev1.LicenseClaims{
		LicenseId: "lic_t5q", Customer: customer("desk@harbour.example"), Term: licensev1.LicenseTerm_paid, Entitlements: &entitlementsv1.Entitlements{},
		IssuedAt: on(2031, 3, 15), ExpiresAt: on(2032, 3, 15), GraceUntil: on(2032, 4, 30),
	}
	if change != nil {
		change(c)
	}
	return c
}

func license(change func(*licensev1.LicenseSpec)) proto.Message {
	l := &licensev1.License{
		ApiVersion: "billing.cadre.dev/v1", Kind: "License", Metadata: &resourcev1.Metadata{Slug: "harbour"},
		Spec: &licensev1.LicenseSpec{Customer: customer("desk@harbour.example"), Term: licensev1.LicenseTerm_trial, ExpiresAt: on(2032, 3, 15)},
	}
	if change != nil {
		change(l.Spec)
	}
	return l
}

func limits(change func(*entitlementsv1.Limits)) proto.Message {
	l := &entitlementsv1.Limits{}
	change(l)
	return &entitlementsv1.Entitlements{Limits: l}
}

func features(all ...entitlementsv1.Feature) proto.Message {
	return &entitlementsv1.Entitlements{Features: all}
}

func subscribed(plan string) proto.Message {
	return &subscriptionv1.Subscription{
		ApiVersion: "billing.cadre.dev/v1", Kind: "Subscription", Metadata: &resourcev1.Metadata{Slug: "ours"}, Spec: &subscriptionv1.SubscriptionSpec{Plan: plan},
	}
}

// The contract of plans, licenses and entitlements. No edition may change a row: who relies
// on a rule relies on its id. C34, C35: no service and no store is needed for it.
func TestTheBillingContract(t *testing.T) {
	t.Parallel()
	const (
		monthly = "plan_spec.license_has_no_monthly_terms"
		annual  = "plan_spec.subscription_has_no_annual_price"
		issue   = "license_claims.expires_after_issue"
		grace   = "license_claims.grace_not_before_expiry"
		spec    = "license_spec.grace_not_before_expiry"
	)
	v, err := NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		m    proto.Message
		rule string // "" where it is valid
	}{
		{"C15: a subscription by the month", offered(&planv1.PlanTerms{MonthlyMinimumMicros: 40_000_000, UsageShareBasisPoints: 250}), ""},
		{"C16: a license by the year", licensed(&planv1.PlanTerms{AnnualPriceMicros: 9_600_000_000_000}), ""},
		{"C17: a subscription without terms", offered(nil), ""},
		{"a license without terms", licensed(nil), ""},
		{"C18: a license with a monthly minimum", licensed(&planv1.PlanTerms{MonthlyMinimumMicros: 1}), monthly},
		{"C19: a license with a usage share", licensed(&planv1.PlanTerms{UsageShareBasisPoints: 1}), monthly},
		{"a license with a price for more organizations", licensed(&planv1.PlanTerms{PerExtraOrganizationMicros: 7}), ""},
		{"C20: a subscription with an annual price", offered(&planv1.PlanTerms{AnnualPriceMicros: 1}), annual},
		{"C21: more than everything is shared", offered(&planv1.PlanTerms{UsageShareBasisPoints: 10001}), "int32.gte_lte"},
		{"C21: everything is shared", offered(&planv1.PlanTerms{UsageShareBasisPoints: 10000}), ""},
		{"less than nothing is shared", offered(&planv1.PlanTerms{UsageShareBasisPoints: -1}), "int32.gte_lte"},
		{"a minimum below nothing", offered(&planv1.PlanTerms{MonthlyMinimumMicros: -1}), "int64.gte"},
		{"a price below nothing", licensed(&planv1.PlanTerms{AnnualPriceMicros: -1}), "int64.gte"},
		{"a plan of no instrument", plan(0, nil), "enum.not_in"},
		{"a plan of an unknown instrument", plan(9, nil), "enum.defined_only"},
		{"C22: good claims", claims(nil), ""},
		{"claims without a time of grace", claims(func(c *licensev1.LicenseClaims) { c.GraceUntil = nil }), ""},
		{"C23: expired before it was issued", claims(func(c *licensev1.LicenseClaims) { c.ExpiresAt, c.GraceUntil = on(2031, 2, 10), on(2031, 2, 20) }), issue},
		{"expired when it was issued", claims(func(c *licensev1.LicenseClaims) { c.ExpiresAt = c.GetIssuedAt() }), issue},
		{"C24: grace ends before it expires", claims(func(c *licensev1.LicenseClaims) { c.GraceUntil = on(2032, 1, 5) }), grace},
		{"grace ends when it expires", claims(func(c *licensev1.LicenseClaims) { c.GraceUntil = c.GetExpiresAt() }), ""},
		{"claims of no term", claims(func(c *licensev1.LicenseClaims) { c.Term = 0 }), "enum.not_in"},
		{"claims without an id", claims(func(c *licensev1.LicenseClaims) { c.LicenseId = "" }), "string.min_len"},
		{"claims without a customer", claims(func(c *licensev1.LicenseClaims) { c.Customer = nil }), "required"},
		{"claims without entitlements", claims(func(c *licensev1.LicenseClaims) { c.Entitlements = nil }), "required"},
		{"claims without an issue", claims(func(c *licensev1.LicenseClaims) { c.IssuedAt = nil }), "required"},
		{"claims without an end", claims(func(c *licensev1.LicenseClaims) { c.ExpiresAt, c.GraceUntil = nil, nil }), "required"},
		{"C25: a customer without an address", license(func(l *licensev1.LicenseSpec) { l.Customer = customer("") }), "required"},
		{"C26: an address that is none", license(func(l *licensev1.LicenseSpec) { l.Customer = customer("harbor-office") }), "string.email"},
		{"C27: a trial whose grace ends before it", license(func(l *licensev1.LicenseSpec) { l.GraceUntil = on(2032, 3, 14) }), spec},
		{"C28: a trial whose grace ends with it", license(func(l *licensev1.LicenseSpec) { l.GraceUntil = l.GetExpiresAt() }), ""},
		{"a license without an end", license(func(l *licensev1.LicenseSpec) { l.ExpiresAt = nil }), ""},
		{"C29: no user at all", limits(func(l *entitlementsv1.Limits) { l.MaxUsers = proto.Int32(0) }), "int32.gt"},
		{"no organization at all", limits(func(l *entitlementsv1.Limits) { l.MaxOrganizations = proto.Int32(0) }), "int32.gt"},
		{"fewer than no managed organization", limits(func(l *entitlementsv1.Limits) { l.IncludedManagedOrganizations = proto.Int32(-1) }), "int32.gt"},
		{"one user", limits(func(l *entitlementsv1.Limits) { l.MaxUsers = proto.Int32(1) }), ""},
		{"C30: limits without a limit", limits(func(*entitlementsv1.Limits) {}), ""},
		{"C31: a feature twice", features(entitlementsv1.Feature_teams, entitlementsv1.Feature_teams), "repeated.unique"},
		{"C31: a feature", features(entitlementsv1.Feature_teams), ""},
		{"all features", features(1, 2, 3, 4, 5, 6, 7), ""},
		{"C32: no feature by name", features(entitlementsv1.Feature_feature_unspecified), "enum.not_in"},
		{"an unknown feature", features(99), "enum.defined_only"},
		{"a subscription", subscribed("harbor"), ""},
		{"a subscription of nothing", subscribed(""), "string.min_len"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rules := brokenRules(v.Validate(c.m))
			if c.rule == "" && len(rules) > 0 || c.rule != "" && (len(rules) != 1 || rules[0] != c.rule) {
				t.Errorf("it breaks %q, want %q", rules, c.rule)
			}
		})
	}
}

// brokenRules are the ids of what an answer of the validator tells.
func brokenRules(err error) (rules []string) {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return nil
	}
	for _, v := range f.Violations {
		rules = append(rules, v.Rule)
	}
	return rules
}
