package turn

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// detailLimit bounds, in bytes, what is kept of the other side's words.
const detailLimit = 2048

// row is one line of the failure table.
type row struct {
	code      string
	retryable bool
	message   string
}

// providerRows say what each category of a provider's failure means. The codes
// are part of the contract.
var providerRows = map[model.Category]row{
	model.Refused:        {"provider_safety_refusal", false, "the model's provider refused to answer for safety reasons"},
	model.RateLimited:    {"provider_rate_limited", true, "the model's provider limits the rate of requests; send the message again later"},
	model.Overloaded:     {"provider_unavailable", true, "the model's provider is overloaded; send the message again later"},
	model.ServerError:    {"provider_unavailable", true, "the model's provider failed; send the message again later"},
	model.Quota:          {"provider_quota_exhausted", false, "the quota at the model's provider is used up"},
	model.ContextTooLong: {"context_too_long", false, "the conversation is longer than the model's window; begin a new session"},
	model.Authentication: {"provider_authentication_failed", false, "the model's provider did not accept the key; check the provider's key variable of the server"},
	model.BadRequest:     {"provider_request_rejected", false, "the model's provider rejected the request"},
	model.Network:        {"upstream_connectivity_unavailable", true, "the model's provider cannot be reached; send the message again later"},
	model.Malformed:      {"provider_response_malformed", true, "the model's provider broke off or sent something that is no answer; send the message again"},
	model.Timeout:        {"provider_timeout", true, "the model's provider was silent for too long; send the message again"},
}

// Classify turns an error into what people and programs are told of a failed
// turn. It is pure; the first row that matches wins.
func Classify(err error) *agentexecutionv1.ExecutionError {
	var provider *model.Error
	if errors.As(err, &provider) {
		r, ok := providerRows[provider.Category]
		if !ok {
			r = providerRows[model.BadRequest]
		}
		return &agentexecutionv1.ExecutionError{Code: r.code, Retryable: r.retryable, Message: r.message + asksToWait(provider), Detail: bounded(provider.Message)}
	}
	f := fault.From(err)
	if f.Code == fault.Internal {
		return &agentexecutionv1.ExecutionError{Code: "internal", Message: "the turn failed inside Cadre; the server's log says more"}
	}
	return &agentexecutionv1.ExecutionError{Code: strings.ToLower(f.Reason), Message: f.Message, Retryable: f.Retryable}
}

// asksToWait tells how long the provider asks to wait, where it does.
func asksToWait(e *model.Error) string {
	if e.RetryAfter <= 0 {
		return ""
	}
	return fmt.Sprintf("; it asks to wait %s", e.RetryAfter.Round(time.Second))
}

// loggable is an error without a provider's own words, which may hold content.
func loggable(err error) string {
	var provider *model.Error
	if !errors.As(err, &provider) {
		return err.Error()
	}
	return fmt.Sprintf("%s, status %d, after the answer began: %t", provider.Category, provider.Status, provider.Started)
}

func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= detailLimit {
		return s
	}
	cut := detailLimit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
