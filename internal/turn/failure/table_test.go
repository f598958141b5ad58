package failure_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/turn/failure"
)

// remote is an error of a library that knows of status and body.
type remote struct {
	text   string
	status int
	body   any
}

func (r *remote) Error() string   { return r.text }
func (r *remote) HTTPStatus() int { return r.status }
func (r *remote) Body() any       { return r.body }

// event is what a provider's error in a stream becomes.
func event(data string) error { return model.FromEvent([]byte(data)) }

// response is what a provider's refused request becomes.
func response(status int, data string) error {
	return model.FromResponse(status, nil, []byte(data), time.Unix(1790000000, 0))
}

// TestTheTable has a row for each rule. Adversarial rows satisfy several rules at once,
// and are wrapped, joined and hidden. T15, T17, T20, T21
func TestTheTable(t *testing.T) {
	t.Parallel()
	var told []string
	unknown := &failure.StartUnknown{Err: io.EOF}
	unsent := &failure.StartUnavailable{Err: io.EOF}
	for name, c := range map[string]struct {
		err       error
		code      string
		retryable bool
	}{
		"T1 a refusal":                                 {event(`{"code":"safety","message":"no"}`), "provider_safety_refusal", false},
		"T1 a refusal by category":                     {&model.Error{Category: model.Refused}, "provider_safety_refusal", false},
		"T2 the category alone decides":                {&model.Error{Category: model.BadRequest, Code: "content_filter", Message: "blocked by content filter"}, "provider_request_rejected", false},
		"T3 bio_policy":                                {errors.New("bio_policy"), "provider_safety_refusal", false},
		"T3 content_filter":                            {fmt.Errorf("asked: %w", errors.New("content_filter")), "provider_safety_refusal", false},
		"T3 content_policy_violation":                  {&remote{"x", 400, map[string]any{"error": map[string]any{"code": "content_policy_violation"}}}, "provider_safety_refusal", false},
		"T3 cyber_policy":                              {errors.Join(io.EOF, errors.New("cyber_policy")), "provider_safety_refusal", false},
		"T3 safety_violation":                          {&remote{"x", 0, map[string]any{"type": "safety_violation"}}, "provider_safety_refusal", false},
		"T3 block text":                                {errors.New("the answer was blocked by our content filter"), "provider_safety_refusal", false},
		"T3 not exactly":                               {errors.New("a content_filter is near"), "internal", false},
		"T4 a refusal inside a 503":                    {response(503, `{"error":{"code":"content_filter","message":"overloaded"}}`), "provider_safety_refusal", false},
		"T4 a refusal inside a 500 of a library":       {&remote{"internal", 500, map[string]any{"error": map[string]any{"code": "content_filter"}}}, "provider_safety_refusal", false},
		"T5 a refusal that mentions context length":    {event(`{"code":"cyber_policy","message":"maximum context length exceeded"}`), "provider_safety_refusal", false},
		"T6 unavailable with the status of a 400":      {&model.Error{Category: model.Overloaded, Status: 400, Message: "rate limit, quota per day"}, "provider_unavailable", true},
		"T6 unavailable, an error of the server":       {&model.Error{Category: model.ServerError, Status: 401}, "provider_unavailable", true},
		"T6 an unknown code in a broad type":           {event(`{"code":"zzz_new","type":"server_error"}`), "provider_request_rejected", false},
		"T7 a rate limit":                              {response(429, `{"error":{"code":"rate_limit_exceeded","message":"20 per minute"}}`), "provider_rate_limited", true},
		"T8 unavailable":                               {event(`{"type":"overloaded_error","message":"busy"}`), "provider_unavailable", true},
		"T8 unavailable with words of a quota":         {response(503, `{"error":{"message":"quota per day"}}`), "provider_unavailable", true},
		"T9 unknown":                                   {event(`{"code":"zzz_new","message":"x"}`), "provider_request_rejected", false},
		"T9 a category that nobody knows":              {&model.Error{Category: "new"}, "provider_request_rejected", false},
		"T10 a rate limit that is a quota":             {response(429, `{"error":{"code":"insufficient_quota"}}`), "provider_quota_exhausted", false},
		"T10 unknown that is a quota":                  {event(`{"code":"zzz_new","message":"your quota per day is used up"}`), "provider_quota_exhausted", false},
		"T10 a rate limit of 16 days":                  {&model.Error{Category: model.RateLimited, Status: 429, RetryAfter: 16 * 24 * time.Hour}, "provider_quota_exhausted", false},
		"T101 the wording of a quota in a request":     {event(`{"type":"invalid_request_error","message":"your quota per day is used up"}`), "provider_request_rejected", false},
		"T14 an overflow":                              {event(`{"code":"context_length_exceeded"}`), "context_too_long", false},
		"T14 an overflow by its words, as 500":         {&model.Error{Category: model.ServerError, Status: 500, Message: "prompt is too long"}, "context_too_long", false},
		"T14 an overflow as 400":                       {response(400, `{"error":{"message":"maximum context length is 8192 tokens"}}`), "context_too_long", false},
		"T14 no overflow of a rate":                    {&model.Error{Category: model.RateLimited, Message: "too many tokens per minute"}, "provider_rate_limited", true},
		"T31 a pool without capacity":                  {&model.NoCapacity{Pool: "team", Err: &model.Error{Category: model.Quota}}, "provider_capacity_exhausted", true},
		"T15 a refusal behind a pool":                  {&model.NoCapacity{Err: &model.Error{Category: model.Refused}}, "provider_safety_refusal", false},
		"a key":                                        {response(401, `{}`), "provider_authentication_failed", false},
		"the network":                                  {&model.Error{Category: model.Network}, "upstream_connectivity_unavailable", true},
		"broken off":                                   {&model.Error{Category: model.Malformed}, "provider_response_malformed", true},
		"without end":                                  {&failure.Endless{Err: &model.Error{Category: model.Malformed}}, "provider_response_malformed", false},
		"silence":                                      {&model.Error{Category: model.Timeout}, "provider_timeout", true},
		"T15 a provider's error around a fault":        {errors.Join(fault.New(fault.Unavailable, "X", "x"), &model.Error{Category: model.Quota}), "provider_quota_exhausted", false},
		"T15 a refusal around a start":                 {errors.Join(unknown, &model.Error{Category: model.Refused}), "provider_safety_refusal", false},
		"T15 a rate limit that says overloaded":        {errors.Join(errors.New("overloaded"), &model.Error{Category: model.RateLimited}), "provider_rate_limited", true},
		"T15 a rejected request around a start":        {errors.Join(unknown, &model.Error{Category: model.BadRequest}), "provider_request_rejected", false},
		"T15 a start around an MCP server":             {errors.Join(&failure.MCPTimeout{}, unsent), "sandbox_command_start_unavailable", true},
		"T15 an MCP server behind a fault":             {fault.New(fault.FailedPrecondition, "X", "x").Because(&failure.MCPUnavailable{}), "mcp_transport_unavailable", true},
		"T15 a policy behind a fault":                  {fault.New(fault.FailedPrecondition, "X", "x").Because(&failure.PolicyChanged{}), "model_definition_changed", true},
		"T15 the words of a rate and of overload":      {errors.New("overloaded: too many requests"), "provider_rate_limited", true},
		"T15 the words of a rate on a lost connection": {errors.Join(syscall.EPIPE, errors.New("rate limit")), "provider_rate_limited", true},
		"T15 a lost connection around no end":          {&failure.Endless{Err: &model.Error{Category: model.Network}}, "upstream_connectivity_unavailable", true},
		"T15 a rejected request around no shortening":  {errors.Join(&failure.NotCompacted{Why: "x"}, &model.Error{Category: model.BadRequest}), "provider_request_rejected", false},
		"T15 no shortening around a limit":             {errors.Join(&failure.HistoryLimit{}, &failure.NotCompacted{Why: "x"}), "context_compaction_failed", false},
		"T15 a limit around an empty answer":           {errors.Join(&failure.EmptyContinuation{}, &failure.HistoryLimit{}), "history_limit_exceeded", false},
		"T15 an empty answer around a start":           {errors.Join(unknown, &failure.EmptyContinuation{}), "post_compaction_continuation_empty", true},
		"T15 an MCP server's silence around its loss":  {errors.Join(&failure.MCPUnavailable{}, &failure.MCPTimeout{}), "mcp_transport_timeout", true},
		"T15 an MCP server's loss around a policy":     {errors.Join(&failure.PolicyChanged{}, &failure.MCPUnavailable{}), "mcp_transport_unavailable", true},
		"T15 overload around the bare sentence":        {errors.Join(errors.New("Connection error."), errors.New("overloaded")), "provider_unavailable", true},
		"T16 the bare sentence":                        {errors.New("Connection error."), "upstream_connectivity_unavailable", true},
		"T16 without its full stop":                    {errors.New("Connection error"), "internal", false},
		"T16 in lower case":                            {errors.New("connection error."), "internal", false},
		"T16 inside of more":                           {errors.New("Connection error. Try again"), "internal", false},
		"T16 with a status":                            {&remote{"Connection error.", 404, nil}, "internal", false},
		"T17 an MCP server's silence":                  {fmt.Errorf("x: %w", &failure.MCPTimeout{Server: "files", Err: context.DeadlineExceeded}), "mcp_transport_timeout", true},
		"T17 an MCP server that cannot be reached":     {&failure.MCPUnavailable{Server: "files", Err: syscall.ECONNREFUSED}, "mcp_transport_unavailable", true},
		"T18 a start that nobody knows of":             {fmt.Errorf("x: %w", unknown), "sandbox_command_start_outcome_unknown", false},
		"T19 a start that was not sent":                {fmt.Errorf("x: %w", unsent), "sandbox_command_start_unavailable", true},
		"T20 not sent, and the route is not known":     {&failure.RouteUnknown{Err: unsent}, "internal", false},
		"T20 the other way round":                      {errors.Join(unsent, &failure.RouteUnknown{Err: io.EOF}), "internal", false},
		"T21 both":                                     {errors.Join(unsent, unknown), "sandbox_command_start_outcome_unknown", false},
		"T21 both, the other way round":                {&failure.StartUnavailable{Err: unknown}, "sandbox_command_start_outcome_unknown", false},
		"T20 no proof by words":                        {errors.New("the command was not sent: sandbox_command_start_unavailable"), "internal", false},
		"a policy that changed":                        {&failure.PolicyChanged{Model: "scripted:a"}, "model_definition_changed", true},
		"a fault":                                      {fault.New(fault.FailedPrecondition, "UNKNOWN_TOOL", "x"), "unknown_tool", false},
		"a fault that may pass":                        {fault.New(fault.Unavailable, "ATTEMPTS_LOST", "x").Retry(), "attempts_lost", true},
		"a fault with the words of a provider":         {fault.New(fault.FailedPrecondition, "X", "too many requests").Because(errors.New("rate limit")), "x", false},
		"an internal fault":                            {fault.From(errors.New("x")), "internal", false},
		"a 429 of a library":                           {&remote{"x", 429, nil}, "provider_rate_limited", true},
		"the words of a rate":                          {errors.New("Rate limit reached"), "provider_rate_limited", true},
		"the words of a rate with another status":      {&remote{"too many requests", 400, nil}, "internal", false},
		"a 503 of a library with the words of a rate":  {&remote{"too many requests", 503, nil}, "provider_unavailable", true},
		"overload in words":                            {errors.New("the server is overloaded"), "provider_unavailable", true},
		"overload in words with another status":        {&remote{"overloaded", 404, nil}, "internal", false},
		"a connection that was reset":                  {fmt.Errorf("read: %w", syscall.ECONNRESET), "provider_unavailable", true},
		"a pipe that broke":                            {fmt.Errorf("write: %w", syscall.EPIPE), "provider_unavailable", true},
		"a file that is not there":                     {fmt.Errorf("open: %w", syscall.ENOENT), "internal", false},
		"anything else":                                {errors.New("x"), "internal", false},
	} {
		for how, err := range map[string]error{"bare": c.err, "wrapped": fmt.Errorf("at work: %w", c.err)} {
			got := failure.Classify(err)
			if got.Code != c.code || got.Retryable != c.retryable || got.Message == "" {
				t.Errorf("%s, %s: %+v, want %s, retryable %t", name, how, got, c.code, c.retryable)
			}
			if !got.Retryable && got.Budget != failure.Never {
				t.Errorf("%s: it has a budget and is not retryable", name)
			}
			if how == "bare" {
				told = append(told, fmt.Sprintf("%s\n    %s, retryable %t, budget %d, set-up %t, quota %q\n    %s\n", name, got.Code, got.Retryable, got.Budget, got.Setup, got.Quota, got.Proto().GetMessage()))
			}
		}
	}
	slices.Sort(told)
	golden(t, filepath.Join("testdata", "failures.txt"), strings.Join(told, ""))
}

var update = flag.Bool("update", false, "write testdata/failures.txt")

// golden compares what is told with what was told before.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("what failures tell changed; look at it and run with -update (%v):\n%s", err, got)
	}
}

// Budgets: overload has its own, a rate limit waits for what it is told, and what
// somebody has to mend has none.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for c, want := range map[model.Category]failure.Budget{
		model.Refused: failure.Never, model.Quota: failure.Never, model.ContextTooLong: failure.Never, model.Authentication: failure.Never, model.BadRequest: failure.Never,
		model.RateLimited: failure.RateLimit, model.Overloaded: failure.Overload,
		model.ServerError: failure.Ordinary, model.Network: failure.Ordinary, model.Malformed: failure.Ordinary, model.Timeout: failure.Ordinary,
	} {
		got := failure.Classify(&model.Error{Category: c, Message: "their words", RetryAfter: 3 * time.Second})
		if got.Budget != want || got.Detail != "their words" || got.Wait != 3*time.Second || got.Setup {
			t.Errorf("%s gives %+v, want budget %d", c, got, want)
		}
		if strings.Contains(got.Message+got.Advice, "their words") {
			t.Errorf("%s tells people the provider's own words as the message", c)
		}
		if text := got.Proto().GetMessage(); !strings.Contains(text, "it asks to wait 3s") {
			t.Errorf("%s does not say how long the provider asks to wait: %s", c, text)
		}
	}
	if got := failure.Classify(fault.New(fault.Unavailable, "X", "x").Retry()); got.Budget != failure.Never {
		t.Errorf("a fault of our own is tried again by itself: %+v", got)
	}
	if len(model.Categories()) != 11 {
		t.Error("a category is missing here")
	}
}

// TestTheScopeOfAQuotaIsTold: T10
func TestTheScopeOfAQuotaIsTold(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"error":{"code":"insufficient_credits","message":"per month"}}`: "credits",
		`{"error":{"code":"monthly_spend_limit_reached"}}`:                "monthly",
		`{"error":{"message":"limit of requests per day reached"}}`:       "daily",
		`{"error":{"code":"insufficient_quota","message":"x"}}`:           "quota",
	} {
		got := failure.Classify(response(429, data)).Proto()
		if got.GetCode() != "provider_quota_exhausted" || got.GetQuotaScope() != want || got.GetRetryable() || got.GetDetail() == "" {
			t.Errorf("%s gives %v, want the scope %s", data, got, want)
		}
	}
	if got := failure.Classify(response(429, `{}`)).Proto(); got.GetQuotaScope() != "" {
		t.Errorf("a rate limit has the scope of a quota: %v", got)
	}
}

// TestDetailsAreBounded: T12
func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"ü", "\xff", "🎉", "a"} {
		err := &model.Error{Category: model.BadRequest, Message: strings.Repeat(piece, 10000)}
		got := failure.Classify(err).Detail
		if len(got) > failure.DetailLimit+len("…") || !utf8.ValidString(got) || utf8.ValidString(piece) && len(got) < failure.DetailLimit/2 {
			t.Errorf("of %q the detail has %d bytes, valid: %v", piece, len(got), utf8.ValidString(got))
		}
	}
}

// loop is an error that wraps itself, with a detail that nobody may look at.
type loop struct{ detail string }

func (l *loop) Error() string { return "loop" }
func (l *loop) Unwrap() error { return l }
func (l *loop) Body() any {
	o := map[string]any{"detail": l.detail, "message": "plain"}
	o["error"], o["cause"], o["data"] = o, []any{o, o}, map[string]any{"response": o}
	return o
}

// many wraps more than anybody looks at.
type many struct{ all []error }

func (m *many) Error() string   { return "many" }
func (m *many) Unwrap() []error { return m.all }

// TestErrorsThatHoldThemselvesAreRead: of any object only code, message, name, param and
// type count, and the walk ends. T13
func TestErrorsThatHoldThemselvesAreRead(t *testing.T) {
	t.Parallel()
	if got := failure.Classify(&loop{detail: "content_filter"}); got.Code != "internal" {
		t.Errorf("a field called detail was read: %+v", got)
	}
	for _, key := range []string{"code", "message", "name", "param", "type"} {
		body := map[string]any{key: "content_filter"}
		body["error"] = []any{body}
		if got := failure.Classify(&remote{body: []any{1, map[string]any{"response": body}}}); got.Code != "provider_safety_refusal" {
			t.Errorf("the field %s was not read: %+v", key, got)
		}
	}
	self := &many{}
	for range 100_000 {
		self.all = append(self.all, self)
	}
	self.all[5] = &model.Error{Category: model.Quota}
	if got := failure.Classify(self); got.Code != "provider_quota_exhausted" {
		t.Errorf("an error beside itself is not found: %+v", got)
	}
	if got := failure.Classify(&many{all: []error{nil, &loop{}, errors.New("bio_policy")}}); got.Code != "provider_safety_refusal" {
		t.Errorf("behind a loop nothing is found: %+v", got)
	}
}

// What a command's start says is made here and holds nothing of the other side. T18
func TestWhatIsSaidOfACommandThatMayHaveRun(t *testing.T) {
	t.Parallel()
	got := failure.Classify(&failure.StartUnknown{Err: errors.New("raw text of the sandbox")}).Proto()
	for _, word := range []string{"possibly ran", "no acknowledgement", "not sent again", "look into the sandbox"} {
		if !strings.Contains(got.GetMessage(), word) {
			t.Errorf("it does not say %q: %s", word, got.GetMessage())
		}
	}
	if strings.Contains(got.String(), "raw text") {
		t.Errorf("it holds what the sandbox said: %v", got)
	}
}

// A failure that was tried often enough says how often and how to go on. T41
func TestAnExhaustedFailureSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	f := failure.Classify(&model.Error{Category: model.Overloaded, RetryAfter: time.Second}).Exhausted(5)
	if f.Retryable || f.Budget != failure.Never || f.Code != "provider_unavailable" {
		t.Errorf("it is %+v", f)
	}
	for _, word := range []string{"overloaded", "5 times", "cadre recover", "new message"} {
		if text := f.Proto().GetMessage(); !strings.Contains(text, word) {
			t.Errorf("it does not say %q: %s", word, text)
		}
	}
	if text := f.Exhausted(1).Advice; !strings.Contains(text, "once") {
		t.Errorf("one time is told as %s", text)
	}
}

func TestFaultsKeepTheirReasonAndHideTheirCause(t *testing.T) {
	t.Parallel()
	f := fault.New(fault.FailedPrecondition, "ROOM_LOCKED", "it is locked").Because(errors.New("secret path"))
	if got := failure.Classify(f).Proto(); got.GetCode() != "room_locked" || got.GetMessage() != "it is locked" {
		t.Errorf("got %v", got)
	}
	if got := failure.Classify(errors.New("secret path")).Proto(); got.GetCode() != "internal" || strings.Contains(got.String(), "secret") {
		t.Errorf("an unexpected error gave %v", got)
	}
}

// The log gets what kind of failure it was, and none of the provider's words.
func TestTheLogHoldsNoWordsOfAProvider(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("asking: %w", &model.Error{Category: model.Refused, Status: 400, Message: "sentinel", Code: "sentinel"})
	if got := failure.Loggable(err); strings.Contains(got, "sentinel") || !strings.Contains(got, "refused") || !strings.Contains(got, "400") {
		t.Errorf("the log gets %q", got)
	}
	if got := failure.Loggable(io.EOF); got != "EOF" {
		t.Errorf("of another error it gets %q", got)
	}
}
