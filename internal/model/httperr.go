package model

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The rules by which a failure gets its category, for every provider and for
// statuses and events in a stream alike. The first rule that matches counts. A
// refusal stands above all: inside a 5xx it stays one, whatever else its text says.
// Codes stand above statuses only where a provider hides them under a broad status;
// a type counts only where there is no code; wording counts last, and never turns a
// failure of the request into one that is worth a repetition.
var failureRules = []failureRule{
	{Refused, func(f failure) bool { return f.label(refusalLabels) }},
	{Refused, func(f failure) bool { return f.request() && refusalWords.MatchString(f.text) }},
	{Refused, func(f failure) bool { return f.status != 401 && f.status != 429 && blockedWords.MatchString(f.text) }},
	{Authentication, func(f failure) bool { return f.status == 401 || f.label(authenticationLabels) }},
	{ContextTooLong, func(f failure) bool { return f.label(overflowLabels) }},
	{ContextTooLong, func(f failure) bool { return f.status != 429 && f.status != 402 && overflowWords.MatchString(f.text) }},
	{Quota, func(f failure) bool { return f.status == 402 }},
	{Quota, func(f failure) bool { return f.mayBeQuota() && f.quota() }},
	{Authentication, func(f failure) bool { return f.status == 403 }},
	{RateLimited, func(f failure) bool { return f.status == 429 || f.status == 413 && f.label(rateLabels) }},
	{ContextTooLong, func(f failure) bool { return f.status == 413 }},
	{Overloaded, func(f failure) bool { return f.status == 503 || f.status == 529 }},
	{ServerError, func(f failure) bool { return f.status == 408 || f.status == 409 || f.status >= 500 }},
	{BadRequest, func(f failure) bool { return f.status != 0 }},
	// What follows has no status: it came inside a stream.
	{RateLimited, func(f failure) bool { return f.label(rateLabels) }},
	{Overloaded, func(f failure) bool { return f.label(overloadLabels) }},
	{ServerError, func(f failure) bool { return f.label(serverLabels) }},
	{BadRequest, func(failure) bool { return true }}, // nothing says that a repetition helps
}

type failureRule struct {
	category Category
	match    func(failure) bool
}

// Codes and types, in lower case, as the providers publish them.
var (
	refusalLabels = []string{
		"content_filter", "content_policy_violation", "bio_policy", "cyber_policy", "safety_violation", "invalid_prompt",
		"safety", "prohibited_content", "refusal", "moderation_blocked", "misalignment_policy_violation", "image_content_policy_violation",
	}
	overflowLabels       = []string{"context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded"}
	authenticationLabels = []string{"invalid_api_key", "api_key_invalid", "authentication_error", "unauthenticated"}
	quotaLabels          = slices.Concat(creditLabels, spendingLabels, []string{"insufficient_quota"})
	rateLabels           = []string{"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "resource_exhausted"}
	overloadLabels       = []string{"overloaded_error", "overloaded", "server_overloaded", "server_is_overloaded", "slow_down", "unavailable", "service_unavailable"}
	serverLabels         = []string{"server_error", "api_error", "internal_error", "internal_server_error", "internal", "timeout_error", "deadline_exceeded", "vector_store_timeout"}
)

// Words, where there is no code to go by. They are matched in lower case. What blocked
// an answer is plain also inside a failure of the server.
var (
	blockedWords  = regexp.MustCompile(`blocked by (our )?content filter`)
	refusalWords  = regexp.MustCompile(`flagged as potentially violating|usage polic(y|ies)|content (management )?policy|safety system`)
	overflowWords = regexp.MustCompile(`context[ _]length|maximum context|context window|prompt is too long|input (is|are) too long|input token count|too many (input )?tokens|exceeds? the (maximum|available) (number of tokens|context)`)
	creditWords   = regexp.MustCompile(`credit balance|(insufficient|not enough|out of|no more) (credits?|balance|funds)|spend(ing)? (limit|cap)|billing hard limit`)
	spendCapWords = regexp.MustCompile(`credit balance|spend(ing)? (limit|cap)|billing hard limit|usage limits?`)
	quotaWords    = regexp.MustCompile(`quota|usage limit`)
	longWords     = regexp.MustCompile(`per day|daily|per month|monthly|requests?_?per_?day|perday`)
	minuteWords   = regexp.MustCompile(`per (minute|second)|per_?minute|\b(rpm|tpm)\b|/min`)
)

// Hints at or below shortHint speak of a rate; those above longHint of a quota.
const (
	shortHint = time.Minute
	longHint  = 15 * time.Minute
)

// failure is what the rules look at.
type failure struct {
	status int           // of the response, or the one that an event names; 0 is none
	labels []string      // the code, else the type; and a finer reason; lower case
	text   string        // lower case
	wait   time.Duration // 0 when nothing was said
	spent  spent         // which allowance the error names as used up
}

// judge sets the category, and of a quota its scope, by what e says otherwise.
func (e *Error) judge(status int) {
	f := e.failure(status)
	e.Category = f.category()
	if e.Category == Quota {
		e.Quota, e.spent = f.scope(), notNamed // the scope says it
	}
}

// failure is what the rules look at of e, which came with a status.
func (e *Error) failure(status int) failure {
	f := failure{status: status, text: strings.ToLower(e.Message), wait: e.RetryAfter, spent: e.spent}
	if f.labels = []string{strings.ToLower(e.Code)}; e.Code == "" {
		f.labels = []string{strings.ToLower(e.Type)}
	} else if slices.Contains(reasons, strings.ToLower(e.Type)) {
		f.labels = append(f.labels, strings.ToLower(e.Type)) // a broad code, and its reason
	}
	return f
}

func (f failure) category() Category {
	for _, r := range failureRules {
		if r.match(f) {
			return r.category
		}
	}
	return BadRequest
}

// reasons are types that say more than the code beside them.
var reasons = slices.Concat(quotaLabels, refusalLabels, []string{"api_key_invalid"})

func (f failure) label(any []string) bool {
	return slices.ContainsFunc(f.labels, func(l string) bool { return slices.Contains(any, l) })
}

// request tells whether the request itself is at fault.
func (f failure) request() bool {
	return f.status == 0 && f.label([]string{"invalid_request_error", ""}) || f.status/100 == 4 && f.status != 429 && f.status != 401
}

// mayBeQuota keeps the wording of other failures out: of a broken request, and of a
// server that fails.
func (f failure) mayBeQuota() bool {
	switch f.status {
	case 0:
		return !f.label([]string{"invalid_request_error"}) && !f.label(overloadLabels) && !f.label(serverLabels)
	case 400, 403:
		return f.label(quotaLabels) || spendCapWords.MatchString(f.text)
	case 413:
		return false
	}
	return f.status == 429
}

// quota tells a used-up allowance from a rate.
func (f failure) quota() bool {
	switch {
	case f.label(quotaLabels) || creditWords.MatchString(f.text):
		return true
	case f.spent != notNamed:
		return f.spent == daily
	case f.status == 400 || f.status == 403:
		return spendCapWords.MatchString(f.text)
	case f.wait > longHint:
		return true
	case f.wait > 0 && f.wait <= shortHint, minuteWords.MatchString(f.text):
		return false
	}
	return longWords.MatchString(f.text) && (quotaWords.MatchString(f.text) || strings.Contains(f.text, "limit"))
}

// FromResponse reads a response that is not 2xx. Of its headers it looks at
// Retry-After (seconds or a date, which is compared with now), retry-after-ms and,
// of a redirect, at the host in Location only; a redirect's message says where it
// leads. The body may be anything, also nothing: JSON of a shape that a provider uses
// gives code, type and message, and of any other body a short piece is kept.
func FromResponse(status int, header http.Header, body []byte, now time.Time) *Error {
	w := readWords(body)
	e := &Error{Status: status, Code: cut(w.code, LabelLimit), Type: cut(w.kind, LabelLimit), Message: cut(w.message, MessageLimit)}
	if e.Message == "" {
		e.Message = strings.TrimSpace("the response has no text of its own: " + http.StatusText(status))
	}
	if to := redirect(status, header); to != "" {
		e.Message = cut(to, MessageLimit)
	}
	e.wait(retryAfter(header, now), w.wait)
	e.spent = w.spent
	e.judge(status)
	return e
}

// FromEvent reads an error that came inside a stream. data is the JSON that holds it,
// of any shape that FromResponse reads. Its Status is 0: the response was a good one.
func FromEvent(data []byte) *Error {
	w := readWords(data)
	e := &Error{Code: cut(w.code, LabelLimit), Type: cut(w.kind, LabelLimit), Message: cut(w.message, MessageLimit)}
	e.wait(w.wait)
	e.spent = w.spent
	e.judge(w.status)
	return e
}

// wait takes the first hint that says something.
func (e *Error) wait(hints ...time.Duration) {
	for _, d := range hints {
		if d > 0 {
			e.RetryAfter = max(d.Truncate(time.Millisecond), time.Millisecond)
			return
		}
	}
}
