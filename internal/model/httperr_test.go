package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/model"
)

// body is an error as OpenAI and those who follow it write it.
func body(code, kind, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code)
}

// quotaFailure is an error as Google writes it, with those allowances used up.
func quotaFailure(ids ...string) string {
	var violations []string
	for _, id := range ids {
		violations = append(violations, fmt.Sprintf(`{"quotaMetric":"m","quotaId":%q}`, id))
	}
	return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan.","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[` + strings.Join(violations, ",") + `]}]}}`
}

// TestFailureRules is the table of the shared rules: status, body and hint to category.
func TestFailureRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		after  string // Retry-After
		want   model.Category
	}{
		// Refusals stand above all.
		{400, body("content_policy_violation", "", ""), "", model.Refused},
		{500, body("safety_violation", "server_error", "context length exceeded"), "", model.Refused},
		{429, body("cyber_policy", "", ""), "", model.Refused},
		{400, body("", "invalid_request_error", "Your prompt was flagged as potentially violating our usage policy."), "", model.Refused},
		{500, body("", "", "read our usage policy"), "", model.ServerError}, // wording refuses only where the request is at fault
		{403, body("", "", "Your input violates the content policy"), "", model.Refused},
		{400, body("", "invalid_request_error", "Output blocked by content filtering policy"), "", model.Refused},
		{500, body("", "api_error", "Output blocked by content filtering policy"), "", model.Refused},
		{429, body("", "rate_limit_error", "Output blocked by content filtering policy"), "", model.RateLimited},
		// Windows.
		{400, body("context_length_exceeded", "invalid_request_error", "x"), "", model.ContextTooLong},
		{500, body("context_length_exceeded", "", "x"), "", model.ContextTooLong},
		{400, body("", "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), "", model.ContextTooLong},
		{400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (9) exceeds the maximum number of tokens allowed (1)."}}`, "", model.ContextTooLong},
		{413, body("", "request_too_large", "Request too large"), "", model.ContextTooLong},
		{413, body("rate_limit_exceeded", "tokens", "tokens per minute (TPM)"), "", model.RateLimited},
		{429, body("rate_limit_exceeded", "", "the context window of this minute"), "", model.RateLimited},
		// Keys.
		{401, ``, "", model.Authentication},
		{403, body("", "", "quota project"), "", model.Authentication},
		{400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}`, "", model.Authentication},
		{401, body("insufficient_quota", "", ""), "", model.Authentication},
		// Quota and rate.
		{402, ``, "", model.Quota},
		{429, body("insufficient_quota", "insufficient_quota", "x"), "1", model.Quota},
		{429, body("billing_hard_limit_reached", "", ""), "", model.Quota},
		{400, body("", "invalid_request_error", "Your credit balance is too low to access the API."), "", model.Quota},
		{400, body("", "invalid_request_error", "the quota field is unknown"), "", model.BadRequest},
		{403, body("insufficient_quota", "", ""), "", model.Quota},
		{429, body("", "", "Quota exceeded for this project."), "901", model.Quota},
		{429, body("", "", "Quota exceeded for this project."), "900", model.RateLimited},
		{429, body("", "", "Quota exceeded for requests per day."), "", model.Quota},
		{429, body("", "", "Quota exceeded for requests per day."), "60", model.RateLimited},
		{429, body("", "", "Quota exceeded: requests per minute."), "120", model.RateLimited},
		{429, body("", "", "Slow down."), "1382400", model.Quota},
		{429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota.","details":[{"retryDelay":"26s"}]}}`, "", model.RateLimited},
		{429, quotaFailure("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"), "40", model.Quota},
		{429, quotaFailure("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "GenerateContentInputTokensPerModelPerMinute"), "", model.Quota},
		{429, quotaFailure("GenerateContentInputTokensPerModelPerMinute-PaidTier"), "3600", model.RateLimited},
		{429, quotaFailure(""), "3600", model.Quota}, // no allowance is named: the wait tells it
		{400, quotaFailure("RequestsPerDay"), "", model.BadRequest},
		{500, body("", "", "quota per day"), "86400", model.ServerError},
		// The rest of the statuses.
		{404, body("model_not_found", "", ""), "", model.BadRequest},
		{408, ``, "", model.ServerError},
		{409, ``, "", model.ServerError},
		{418, ``, "", model.BadRequest},
		{302, ``, "", model.BadRequest},
		{422, `{"detail":"no such field"}`, "", model.BadRequest},
		{500, ``, "", model.ServerError},
		{502, `<html>bad gateway</html>`, "", model.ServerError},
		{503, body("slow_down", "", ""), "", model.Overloaded},
		{504, `{"error":{"code":504,"status":"DEADLINE_EXCEEDED","message":"x"}}`, "", model.ServerError},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "", model.Overloaded},
	} {
		h := http.Header{}
		if c.after != "" {
			h.Set("Retry-After", c.after)
		}
		e := model.FromResponse(c.status, h, []byte(c.body), time.Now())
		if e.Category != c.want || e.Status != c.status {
			t.Errorf("%d %s after %q: %s with status %d, want %s", c.status, c.body, c.after, e.Category, e.Status, c.want)
		}
	}
}

// TestEventRules: inside a stream there is no status, and what is not known is the
// request's fault.
func TestEventRules(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]model.Category{
		`{"type":"error","code":"rate_limit_exceeded","message":"x"}`:                                          model.RateLimited,
		`{"type":"error","code":"server_error","message":"x"}`:                                                 model.ServerError,
		`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`:                                   model.Overloaded,
		`{"type":"error","error":{"type":"api_error","message":"x"}}`:                                          model.ServerError,
		`{"code":"insufficient_quota","message":"x"}`:                                                          model.Quota,
		`{"code":"rate_limit_exceeded","message":"tokens per day: the limit is 5"}`:                            model.Quota,
		`{"code":"context_length_exceeded"}`:                                                                   model.ContextTooLong,
		`{"message":"This model's maximum context length is 5"}`:                                               model.ContextTooLong,
		`{"code":"bio_policy","message":"context length"}`:                                                     model.Refused,
		`{"code":"zzz_new","type":"server_error","message":"x"}`:                                               model.BadRequest, // a code that nobody knows gains nothing from a broad type
		`{"type":"invalid_request_error","message":"your quota per day is used up"}`:                           model.BadRequest,
		`{"error":{"code":502,"message":"x"}}`:                                                                 model.ServerError,
		`{"error":{"code":429,"message":"x"}}`:                                                                 model.RateLimited,
		`{"error":"plain words"}`:                                                                              model.BadRequest,
		quotaFailure("RequestsPerDay"):                                                                         model.Quota,
		quotaFailure("RequestsPerMinute"):                                                                      model.RateLimited,
		`{"type":"error","error":{"type":"api_error","message":"Output blocked by content filtering policy"}}`: model.Refused,
		`[{"error":{"code":503,"status":"UNAVAILABLE","message":"x"}}]`:                                        model.Overloaded,
		`7`:        model.BadRequest,
		`not JSON`: model.BadRequest,
		``:         model.BadRequest,
	} {
		if e := model.FromEvent([]byte(data)); e.Category != want || e.Status != 0 {
			t.Errorf("%s: %s with status %d, want %s", data, e.Category, e.Status, want)
		}
	}
}

func TestWordsOfAnError(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]model.Error{
		`{"error":{"message":"m","type":"t","code":"c"}}`:                                        {Code: "c", Type: "t", Message: "m"},
		`{"error":{"message":"m","type":"t","code":null}}`:                                       {Type: "t", Message: "m"},
		`{"type":"error","error":{"type":"t","message":"m"},"request_id":"r"}`:                   {Type: "t", Message: "m"},
		`{"error":{"code":400,"message":"m","status":"S","details":[{"reason":"R"},7]}}`:         {Code: "S", Type: "R", Message: "m"},
		`{"error":{"code":400,"message":"m"}}`:                                                   {Code: "400", Message: "m"},
		`{"error":"m"}`:                                                                          {Message: "m"},
		`{"message":"m","code":"c"}`:                                                             {Code: "c", Message: "m"},
		`{"detail":"m"}`:                                                                         {Message: "m"},
		`{"detail":[{"loc":["body"]}]}`:                                                          {Message: `{"detail":[{"loc":["body"]}]}`},
		`<html><head><style>a{}</style><script>x</script></head><b>It is</b><p>broken &amp; sad`: {Message: "It is broken &amp; sad"},
		``:              {Message: "the response has no text of its own: Bad Request"},
		"two\n\n words": {Message: "two words"},
		"\xff\xfe":      {Message: "\uFFFD"},
	} {
		e := model.FromResponse(400, nil, []byte(body), time.Now())
		if e.Code != want.Code || e.Type != want.Type || e.Message != want.Message {
			t.Errorf("%q gives %q, %q, %q, want %+v", body, e.Code, e.Type, e.Message, want)
		}
	}
}

// TestWordsAreBounded: whatever comes, what is kept is short and valid.
func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"a", "ü", "\xff", "x\xff", "🎉", "<p>", "<"} {
		long := strings.Repeat(piece, 40000)
		for name, e := range map[string]*model.Error{
			"plain": model.FromResponse(500, nil, []byte(long), time.Now()),
			"JSON":  model.FromResponse(500, nil, []byte(body("", "", "")[:20]+long), time.Now()),
			"event": model.FromEvent(fmt.Appendf(nil, `{"code":"%s","type":"%s","message":"%s"}`, long, long, long)),
		} {
			if len(e.Message) > model.MessageLimit || len(e.Code) > model.LabelLimit || len(e.Type) > model.LabelLimit {
				t.Errorf("%s of %q: %d, %d and %d bytes are kept", name, piece, len(e.Message), len(e.Code), len(e.Type))
			}
			if !utf8.ValidString(e.Message + e.Code + e.Type) {
				t.Errorf("%s of %q: what is kept is not UTF-8", name, piece)
			}
		}
		if b := model.Bounded(long); len(b) > model.MessageLimit || !utf8.ValidString(b) || utf8.ValidString(piece) && len(b) < model.MessageLimit-utf8.UTFMax {
			t.Errorf("Bounded keeps %d bytes of %q", len(b), piece)
		}
	}
}

// TestRedirect: a redirect says where it leads, whatever its body says.
func TestRedirect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status         int
		location, says string
	}{
		{302, "https://login.example:8443/sso?token=sentinel", "redirects to the host login.example:8443,"},
		{307, "//other.example/v1", "redirects to the host other.example,"},
		{308, "https://sentinel:sentinel@other.example/", "redirects to the host other.example,"},
		{301, "/v1/", "redirects to another path,"},
		{302, "", "a place that it does not name"},
		{302, "https://[bad", "a place that it does not name"},
		{302, "https://" + strings.Repeat("a", 5000) + ".example", "the host aaaa"},
	} {
		h := http.Header{}
		h.Set("Location", c.location)
		e := model.FromResponse(c.status, h, []byte("<html>Moved, sentinel</html>"), time.Now())
		if e.Category != model.BadRequest || !strings.Contains(e.Message, c.says) || strings.Contains(e.Message, "sentinel") || len(e.Message) > model.MessageLimit {
			t.Errorf("%d to %q says %+v, want %q", c.status, c.location, e, c.says)
		}
	}
	if e := model.FromResponse(304, nil, nil, time.Now()); strings.Contains(e.Message, "redirect") {
		t.Errorf("304 says %s", e.Message)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		after, ms string
		wait      time.Duration
	}{
		{"", "", 0},
		{"7", "", 7 * time.Second},
		{" 7.2 ", "", 7200 * time.Millisecond},
		{"2", "1250", 1250 * time.Millisecond},
		{"2", "x", 2 * time.Second},
		{"", "1", time.Millisecond},
		{"", "0.2", time.Millisecond},
		{"", "1.7", time.Millisecond},
		{"-1", "-5", 0},
		{"NaN", "Inf", 366 * 24 * time.Hour},
		{"1e300", "", 366 * 24 * time.Hour},
		{"Fri, 01 May 2026 12:01:30 GMT", "", 90 * time.Second},
		{"Fri, 01 May 2026 11:00:00 GMT", "", 0},
		{"Fri, 01 May 2099 11:00:00 GMT", "", 366 * 24 * time.Hour},
		{"soon", "", 0},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.after)
		h.Set("retry-after-ms", c.ms)
		h.Set("X-RateLimit-Reset", "99")
		e := model.FromResponse(503, h, nil, now)
		if e.RetryAfter != c.wait {
			t.Errorf("%q and %q give %s, want %s", c.after, c.ms, e.RetryAfter, c.wait)
		}
	}
}

func FuzzFromResponse(f *testing.F) {
	f.Add(429, `{"error":{"code":429,"details":[{"retryDelay":"1s"}]}}`, "7")
	f.Add(500, "<html", "Fri, 01 May 2099 11:00:00 GMT")
	f.Fuzz(func(t *testing.T, status int, body, after string) {
		e := model.FromResponse(status, http.Header{"Retry-After": {after}}, []byte(body), time.Unix(1790000000, 0))
		if e.Category == "" || len(e.Message) > model.MessageLimit || e.Message == "" || !utf8.ValidString(e.Message) || e.RetryAfter < 0 {
			t.Errorf("%d, %q, %q give %+v", status, body, after, e)
		}
	})
}
