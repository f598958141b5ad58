package turn_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/turn"
)

func TestEveryCategoryHasItsCode(t *testing.T) {
	t.Parallel()
	want := map[model.Category]string{
		model.Refused: "provider_safety_refusal", model.RateLimited: "provider_rate_limited", model.Overloaded: "provider_unavailable",
		model.ServerError: "provider_unavailable", model.Quota: "provider_quota_exhausted", model.ContextTooLong: "context_too_long",
		model.Authentication: "provider_authentication_failed", model.BadRequest: "provider_request_rejected",
		model.Network: "upstream_connectivity_unavailable", model.Malformed: "provider_response_malformed", model.Timeout: "provider_timeout",
	}
	for _, c := range model.Categories() {
		got := turn.Classify(fmt.Errorf("wrapped: %w", &model.Error{Category: c, Message: "their words"}))
		if got.GetCode() != want[c] || got.GetMessage() == "" || got.GetDetail() != "their words" {
			t.Errorf("%s gave %v, want %s", c, got, want[c])
		}
		if strings.Contains(got.GetMessage(), "their words") {
			t.Errorf("%s tells people the provider's own words as the message", c)
		}
	}
	if got := turn.Classify(&model.Error{Category: "new"}); got.GetCode() != "provider_request_rejected" || got.GetRetryable() {
		t.Errorf("an unknown category gave %v", got)
	}
}

func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	got := turn.Classify(&model.Error{Category: model.BadRequest, Message: strings.Repeat("ü", 10000) + "\xff"}).GetDetail()
	if len(got) > 2100 || !utf8.ValidString(got) {
		t.Errorf("the detail has %d bytes, valid: %v", len(got), utf8.ValidString(got))
	}
}

func TestFaultsKeepTheirReasonAndHideTheirCause(t *testing.T) {
	t.Parallel()
	f := fault.New(fault.FailedPrecondition, "MODEL_DEFINITION_CHANGED", "it changed").Because(errors.New("secret path"))
	if got := turn.Classify(f); got.GetCode() != "model_definition_changed" || got.GetMessage() != "it changed" {
		t.Errorf("got %v", got)
	}
	if got := turn.Classify(errors.New("secret path")); got.GetCode() != "internal" || strings.Contains(got.String(), "secret") {
		t.Errorf("an unexpected error gave %v", got)
	}
}
