package failure

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// row is one line of the table.
type row struct {
	match   func(*seen) bool
	failure func(*seen) Failure
}

// always answers the same failure, with what the provider said.
func always(f Failure) func(*seen) Failure {
	return func(s *seen) Failure { return s.quoted(f) }
}

// table is the failure table: the first row that matches wins. A refusal stands above
// all. What a provider's error is follows from its category alone, which was made of
// status, code and words where the error came in; only a rate limit is looked at again,
// since a quota hides in it. Below stand the errors of Cadre's own parts, then its
// faults, and last what any other error says of itself: a status before words.
var table = []row{
	{(*seen).refused, always(Failure{Code: safetyRefusal, Message: "the model's provider refused to answer for safety reasons"})},
	{holds[*model.NoCapacity], (*seen).noCapacity},
	{(*seen).usedUp, (*seen).quota},
	{(*seen).overflows, always(Failure{Code: Overflow, Message: "the conversation is longer than the model's window", Advice: "begin a new session"})},
	{category(model.RateLimited), always(rateLimited)},
	{category(model.Overloaded), always(Failure{Code: "provider_unavailable", Retryable: true, Budget: Overload, Message: "the model's provider is overloaded", Advice: later})},
	{category(model.ServerError), always(unavailable)},
	{category(model.Authentication), always(Failure{Code: authenticationFailed, Message: "the model's provider did not accept the key", Advice: "check the provider's key variable of the server"})},
	{category(model.Network), always(unreachable)},
	{(*seen).endless, always(Failure{Code: "provider_response_malformed", Message: "the model's provider sent an answer without end"})},
	{category(model.Malformed), always(Failure{Code: "provider_response_malformed", Retryable: true, Budget: Ordinary, Message: "the model's provider broke off or sent something that is no answer", Advice: "send the message again"})},
	{(*seen).idle, always(Failure{Code: "response_stream_idle_timeout", Retryable: true, Budget: Ordinary, Message: "nothing came of the model's answer for too long", Advice: "send the message again"})},
	{category(model.Timeout), always(Failure{Code: "provider_timeout", Retryable: true, Budget: Ordinary, Message: "the model's provider was silent for too long", Advice: "send the message again"})},
	{func(s *seen) bool { return s.provider != nil }, always(Failure{Code: "provider_request_rejected", Message: "the model's provider rejected the request"})},

	{holds[*NotCompacted], always(notCompacted)},
	{holds[*HistoryLimit], (*seen).historyLimit},
	{holds[*EmptyContinuation], always(Failure{
		Code: "post_compaction_continuation_empty", Retryable: true, Budget: Ordinary,
		Message: "the model answered nothing after the conversation was shortened", Advice: "send the message again",
	})},
	{holds[*StartUnknown], always(Failure{
		Code:    "sandbox_command_start_outcome_unknown",
		Message: "a command was sent to the sandbox and no acknowledgement came: it possibly ran. It is not sent again",
		Advice:  "look into the sandbox before anything else",
	})},
	{(*seen).notSent, always(Failure{
		Code: "sandbox_command_start_unavailable", Retryable: true, Budget: Ordinary, Setup: true,
		Message: "the sandbox takes no commands; nothing of this one was sent", Advice: later,
	})},
	{holds[*RootChanged], always(Failure{
		Code:    "sandbox_workspace_root_changed",
		Message: "the workspace in the sandbox is another folder than before: paths that were told before may mean other files",
		Advice:  "look into the sandbox before anything else",
	})},
	{holds[*NotVisible], (*seen).notVisible},
	{holds[*MCPTimeout], (*seen).mcpTimeout},
	{holds[*MCPUnavailable], (*seen).mcpUnavailable},
	{holds[*PolicyChanged], (*seen).policyChanged},
	{func(s *seen) bool { return s.fault != nil && s.fault.Code != fault.Internal }, func(s *seen) Failure { return ofFault(s.fault) }},

	{(*seen).limited, always(rateLimited)},
	{(*seen).broken, always(unavailable)},
	{(*seen).unconnected, always(unreachable)},
}

// Codes that mean the same whatever a request was for.
const (
	safetyRefusal        = "provider_safety_refusal"
	quotaExhausted       = "provider_quota_exhausted"
	authenticationFailed = "provider_authentication_failed"
)

// Overflow is the code of a conversation that is longer than the model's window.
const Overflow = "context_too_long"

// later is the advice for what passes by itself.
const later = "send the message again later"

var (
	rateLimited = Failure{Code: "provider_rate_limited", Retryable: true, Budget: RateLimit, Message: "the model's provider limits the rate of requests", Advice: later}
	unavailable = Failure{Code: "provider_unavailable", Retryable: true, Budget: Ordinary, Message: "the model's provider failed", Advice: later}
	unreachable = Failure{Code: "upstream_connectivity_unavailable", Retryable: true, Budget: Ordinary, Message: "the model's provider cannot be reached", Advice: later}
)

// notCompacted is what nothing but less conversation can mend.
var notCompacted = Failure{
	Code: "context_compaction_failed", Message: "the conversation is too long for the model and could not be shortened",
	Advice: "begin a new session, or go on with a model that has a larger window",
}

func category(c model.Category) func(*seen) bool {
	return func(s *seen) bool { return s.provider != nil && s.provider.Category == c }
}

// holds tells whether an error of one type is in what was seen.
func holds[T error](s *seen) bool {
	_, ok := find[T](s.err)
	return ok
}

// refusalCodes are what errors hold that are refusals, whatever else they say.
var refusalCodes = []string{"bio_policy", "content_filter", "content_policy_violation", "cyber_policy", "safety_violation"}

// blocked are the words by which a filter says that it held an answer back.
var blocked = regexp.MustCompile(`(?i)blocked by (our )?content filter`)

func (s *seen) refused() bool {
	if s.provider != nil {
		return s.provider.Category == model.Refused
	}
	return slices.ContainsFunc(s.texts, func(t string) bool { return slices.Contains(refusalCodes, t) || blocked.MatchString(t) })
}

func (s *seen) noCapacity() Failure {
	e, _ := find[*model.NoCapacity](s.err)
	return Failure{Code: "provider_capacity_exhausted", Retryable: true, Budget: Capacity, Until: e.Until, Message: e.Error()}
}

func (s *seen) usedUp() bool { return s.provider != nil && s.provider.UsedUp() != "" }

func (s *seen) quota() Failure {
	return s.quoted(Failure{
		Code: quotaExhausted, Message: "the quota at the model's provider is used up", Quota: s.provider.UsedUp(),
	})
}

func (s *seen) overflows() bool { return s.provider != nil && s.provider.Overflows() }

func (s *seen) idle() bool {
	return s.provider != nil && s.provider.Category == model.Timeout && s.provider.Idle > 0
}

func (s *seen) historyLimit() Failure {
	e, _ := find[*HistoryLimit](s.err)
	return Failure{Code: "history_limit_exceeded", Message: e.Error(), Advice: "begin a new session"}
}

func (s *seen) endless() bool { return s.provider != nil && holds[*Endless](s) }

// notSent wants proof that nothing was sent, and none that the sandbox may have changed.
func (s *seen) notSent() bool { return holds[*StartUnavailable](s) && !holds[*RouteUnknown](s) }

// notVisible tells the four things that are known of a file, and nothing of the other side.
func (s *seen) notVisible() Failure {
	e, _ := find[*NotVisible](s.err)
	return Failure{
		Code: "sandbox_write_not_visible", Message: "a file that was written in the sandbox is not found there as it was written",
		Advice: "look into the sandbox before anything else",
		Detail: Bounded(fmt.Sprintf("reason %s, path %s, workdir %s, exit code %d", e.Reason, e.Path, e.Workdir, e.Exit)),
	}
}

func (s *seen) mcpTimeout() Failure {
	e, _ := find[*MCPTimeout](s.err)
	return Failure{Code: "mcp_transport_timeout", Retryable: true, Budget: Ordinary, Message: fmt.Sprintf("the MCP server %q did not answer in time", e.Server), Advice: later}
}

func (s *seen) mcpUnavailable() Failure {
	e, _ := find[*MCPUnavailable](s.err)
	return Failure{Code: "mcp_transport_unavailable", Retryable: true, Budget: Ordinary, Message: fmt.Sprintf("the MCP server %q cannot be reached", e.Server), Advice: later}
}

func (s *seen) policyChanged() Failure {
	e, _ := find[*PolicyChanged](s.err)
	return Failure{Code: "model_definition_changed", Retryable: true, Budget: Ordinary, Setup: true, Message: e.Error(), Advice: "send the message again"}
}

// quoted adds what the provider said.
func (s *seen) quoted(f Failure) Failure {
	if s.provider != nil {
		f.Detail, f.Wait = Bounded(s.provider.Message), max(s.provider.RetryAfter, 0)
	}
	return f
}
