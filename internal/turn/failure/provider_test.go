package failure_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// asked is a provider's error of a category.
func asked(c model.Category, status int, words string) *model.Error {
	return &model.Error{Category: c, Status: status, Message: words}
}

// What a provider's streaming error means follows from its category, and keeps its words.
func TestTheWordsOfAStreamingErrorAreKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err       error
		code      string
		retryable bool
		detail    string
	}{
		// T1: a safety refusal.
		"T1": {event(`{"code":"safety","message":"their words"}`), "provider_safety_refusal", false, "their words"},
		// T2: a code of a filter in another category is no refusal.
		"T2": {&model.Error{Category: model.ServerError, Code: "content_filter", Message: "their words"}, "provider_unavailable", true, "their words"},
		// T6: unavailable stays that, with the words and status of others.
		"T6 by its words":  {asked(model.Overloaded, 429, "quota per day, rate limit, content_filter"), "provider_unavailable", true, "quota per day, rate limit, content_filter"},
		"T6 by its status": {asked(model.ServerError, 402, "insufficient credits"), "provider_unavailable", true, "insufficient credits"},
		// T6: and no other category becomes it.
		"T6 of a rate":    {asked(model.RateLimited, 503, "overloaded, 20 per minute"), "provider_rate_limited", true, "overloaded, 20 per minute"},
		"T6 of unknown":   {asked(model.BadRequest, 503, "service unavailable"), "provider_request_rejected", false, "service unavailable"},
		"T6 of a refusal": {asked(model.Refused, 503, "service unavailable"), "provider_safety_refusal", false, "service unavailable"},
		// T7: a rate limit without evidence of a quota.
		"T7": {event(`{"code":"rate_limit_exceeded","message":"their words"}`), "provider_rate_limited", true, "their words"},
		// T8: unavailable.
		"T8": {event(`{"code":"server_error","message":"their words"}`), "provider_unavailable", true, "their words"},
		// T9: unknown without evidence of a quota.
		"T9": {event(`{"code":"zzz_new","message":"their words"}`), "provider_request_rejected", false, "their words"},
		// T101: of category request, with the wording of a quota.
		"T101": {event(`{"type":"invalid_request_error","message":"your daily quota is used up"}`), "provider_request_rejected", false, "your daily quota is used up"},
	} {
		got := failure.Classify(fmt.Errorf("at work: %w", c.err))
		if got.Code != c.code || got.Retryable != c.retryable || got.Detail != c.detail {
			t.Errorf("%s: %+v, want %s, retryable %t, with %q", name, got, c.code, c.retryable, c.detail)
		}
		if strings.Contains(got.Message, c.detail) {
			t.Errorf("%s: the provider's words are told as the message: %s", name, got.Message)
		}
	}
}

// T3: any other error that holds exactly one of the words is a refusal; T4: also inside a failure
// of the server, and then it is not transient.
func TestRefusalsOfLibraries(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"bio_policy", "content_filter", "content_policy_violation", "cyber_policy", "safety_violation"} {
		for name, err := range map[string]error{
			"T3 alone":    errors.New(word),
			"T3 in a 400": &remote{"x", http.StatusBadRequest, map[string]any{"error": map[string]any{"code": word}}},
			"T4 in a 503": &remote{"service unavailable", http.StatusServiceUnavailable, map[string]any{"error": map[string]any{"code": word}}},
			"T4 in a 529": response(529, `{"error":{"code":"`+word+`","message":"overloaded"}}`),
		} {
			if got := failure.Classify(err); got.Code != "provider_safety_refusal" || got.Retryable {
				t.Errorf("%s, %s: %+v", name, word, got)
			}
		}
		if got := failure.Classify(errors.New(word + " ")); got.Code == "provider_safety_refusal" {
			t.Errorf("T3: %q is not exactly %s", word+" ", word)
		}
	}
}

// T16: the sentence to the letter, without a status.
func TestTheBareSentence(t *testing.T) {
	t.Parallel()
	if got := failure.Classify(fmt.Errorf("asking: %w", errors.New("Connection error."))); got.Code != "upstream_connectivity_unavailable" || !got.Retryable {
		t.Errorf("T16: %+v", got)
	}
	for _, err := range []error{
		errors.New("Connection error"), errors.New("Connection error. "), errors.New("connection error."), errors.New("Connection error: x."),
		&remote{"Connection error.", 400, nil}, asked(model.BadRequest, 0, "Connection error."),
	} {
		if got := failure.Classify(err); got.Code == "upstream_connectivity_unavailable" {
			t.Errorf("T16: %v is near to it and no more, and gives %+v", err, got)
		}
	}
}

// A request for a shorter history that fails is recovered from like the failure behind it; what
// somebody has to mend keeps its name; a refusal is no overflow. T5
func TestFailuresOfACompaction(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, c := range map[string]struct {
		err    *failure.Compacting
		code   string
		budget failure.Budget
	}{
		"overload":                            {&failure.Compacting{Err: asked(model.Overloaded, 529, "")}, "context_compaction_delayed", failure.Overload},
		"the network":                         {&failure.Compacting{Err: asked(model.Network, 0, "")}, "context_compaction_delayed", failure.Ordinary},
		"a rate limit":                        {&failure.Compacting{Err: asked(model.RateLimited, 429, "")}, "context_compaction_delayed", failure.RateLimit},
		"an overflow":                         {&failure.Compacting{Err: asked(model.ContextTooLong, 400, "")}, "context_compaction_failed", failure.Never},
		"T5 a refusal that speaks of context": {&failure.Compacting{Err: asked(model.Refused, 400, "maximum context length")}, "provider_safety_refusal", failure.Never},
		"a quota":                             {&failure.Compacting{Err: asked(model.Quota, 429, "")}, "provider_quota_exhausted", failure.Never},
		"a key":                               {&failure.Compacting{Err: asked(model.Authentication, 401, "")}, "provider_authentication_failed", failure.Never},
		"a bad request":                       {&failure.Compacting{Err: asked(model.BadRequest, 400, "")}, "provider_request_rejected", failure.Never},
		"a pool without capacity":             {&failure.Compacting{Err: &model.NoCapacity{Until: time.Unix(1, 0)}}, "provider_capacity_exhausted", failure.Capacity},
		// T66: the provider's own test decides.
		"T66 passes by its own test":     {&failure.Compacting{Err: asked(model.BadRequest, 400, ""), Passes: &yes}, "context_compaction_delayed", failure.Ordinary},
		"T66 does not by its own test":   {&failure.Compacting{Err: asked(model.ServerError, 500, ""), Passes: &no}, "context_compaction_failed", failure.Never},
		"T66 a refusal stands above it":  {&failure.Compacting{Err: asked(model.Refused, 400, ""), Passes: &yes}, "provider_safety_refusal", failure.Never},
		"T66 overload by its own test":   {&failure.Compacting{Err: asked(model.Overloaded, 529, ""), Passes: &yes}, "context_compaction_delayed", failure.Overload},
		"T66 an overflow by its own way": {&failure.Compacting{Err: asked(model.ContextTooLong, 400, ""), Passes: &no}, "context_compaction_failed", failure.Never},
	} {
		got := failure.Classify(fmt.Errorf("at work: %w", c.err))
		if got.Code != c.code || got.Budget != c.budget || got.Retryable != (c.budget != failure.Never) || got.Setup {
			t.Errorf("%s: %+v, want %s, budget %d", name, got, c.code, c.budget)
		}
	}
}

// What has a code of its own around compactions and silence.
func TestCodesAroundTheHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err       error
		code      string
		retryable bool
		says      string
	}{
		{&failure.NotCompacted{Why: "the summary is empty"}, "context_compaction_failed", false, "begin a new session"},
		{&failure.HistoryLimit{Items: 9000, MostItems: 8192, Bytes: 10, MostBytes: 20}, "history_limit_exceeded", false, "9000 items"},
		{&failure.EmptyContinuation{}, "post_compaction_continuation_empty", true, "answered nothing"},
		{model.Silent("byte", time.Minute), "response_stream_idle_timeout", true, "nothing came"},
		{asked(model.Timeout, 0, "no byte for 1m0s"), "provider_timeout", true, "silent"},
	} {
		got := failure.Classify(fmt.Errorf("at work: %w", c.err))
		if got.Code != c.code || got.Retryable != c.retryable || (got.Budget == failure.Ordinary) != c.retryable || !strings.Contains(got.Proto().GetMessage(), c.says) {
			t.Errorf("%v: %+v, want %s", c.err, got, c.code)
		}
	}
}
