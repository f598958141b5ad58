// Package model is the seam to language models: ask with a history and tools,
// get a stream of neutral parts. A driver talks one provider's wire and keeps
// what is private to it inside the parts that it made.
//
// Delivery: a Model never retries by itself. A stream ends in exactly one Done
// part, or in an error; what came before an error stays valid text that the
// caller may already have shown.
package model

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/fault"
)

// ToolSpec describes a tool to the model.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// Request is one question to a model. The model must not change what it holds.
type Request struct {
	Instructions    string
	History         []*messagev1.Item // oldest first; ends with a user message, a developer message or tool results
	Files           map[string][]byte // bytes of the images that History names, by artifact id; an image that is not there cannot be shown
	Tools           []ToolSpec        // in a stable order
	Effort          string            // "" leaves it to the provider
	MaxOutputTokens int               // 0 leaves it to the provider
	Schema          json.RawMessage   // JSON Schema that the text of the answer keeps to; empty is free text
	RequestID       string            // `<execution>/<dispatch number>`; the same for a repeated request
	Compaction      bool              // what is asked for takes the place of History; a provider sends it like any other request
	// Sent is called once, when the first byte of the request is about to leave.
	// May be nil.
	Sent func()
}

// Part is a piece of an answer; exactly one field is set.
type Part struct {
	Text      string               // a piece of the answer's text, never empty when set
	Reasoning *messagev1.Reasoning // a piece of readable thought, or sealed bytes
	ToolCall  *messagev1.ToolCall  // one whole call; ID may be "" when the provider gives none
	Done      *Done                // the end; nothing follows
}

// Done ends an answer.
type Done struct {
	FinishReason string           // stop, tool_calls, length, content_filter, or the provider's own word
	ResponseID   string           // the provider's id of the response; may be "" and may repeat
	Usage        *messagev1.Usage // nil when the provider told none
}

// Model asks one model of one provider. Safe for concurrent use.
type Model interface {
	// Ask sends the request when the iteration begins and yields parts as they
	// come. Stopping the iteration or ending ctx cancels the request and frees its
	// connection. After a non-nil error nothing follows; the error is a *Error
	// where the provider or the wire said something, ctx's cause when it was cancelled.
	Ask(ctx context.Context, req Request) iter.Seq2[Part, error]
}

// Provider opens models by their id.
type Provider interface {
	// Open checks that the id can be used now (a key is set, a file parses) and
	// answers a fault that says what to do when it cannot. It makes no request.
	Open(ctx context.Context, id string) (Model, error)
	// Fingerprint identifies the definition behind an id, for instance a script's
	// digest; "" when there is nothing to tell. A recovered turn compares it.
	Fingerprint(ctx context.Context, id string) (string, error)
}

// Registration adds a provider to the standard list.
type Registration struct {
	Name string // `scripted`, `openai`, ...: what stands before `:` or `/` in a model's name
	// Open makes the provider; env reads a variable of the environment.
	Open func(env func(name string) string) (Provider, error)
}

// Category is the closed set of ways in which a provider's answer fails.
type Category string

// The categories.
const (
	RateLimited    Category = "rate_limited"
	Overloaded     Category = "overloaded"
	Quota          Category = "quota"
	Refused        Category = "refused" // safety
	ContextTooLong Category = "context_too_long"
	Authentication Category = "authentication"
	BadRequest     Category = "bad_request"
	ServerError    Category = "server_error"
	Network        Category = "network"   // cut, refused, unreachable
	Malformed      Category = "malformed" // the wire broke its own rules, or ended without a terminal event
	Timeout        Category = "timeout"
)

// Error is what went wrong with one request. Its strings come from outside: they
// are bounded, and they belong into the detail of a failure, never into a log.
type Error struct {
	Category   Category
	Status     int              // HTTP status; 0 when there was none
	Code       string           // the provider's own code, at most LabelLimit bytes
	Type       string           // the provider's own type, at most LabelLimit bytes
	Message    string           // the provider's own words, at most MessageLimit bytes
	RetryAfter time.Duration    // how long the provider asks to wait, in whole milliseconds; 0 when it said nothing
	Quota      QuotaScope       // of category Quota: which one; UsedUp answers it also where nothing is set
	Started    bool             // parts of the answer had come before
	Idle       time.Duration    // of category Timeout, when Cadre ended the request: how long nothing came; 0 otherwise
	Usage      *messagev1.Usage // what the provider told that the request used all the same; nil when it told nothing

	spent spent // which allowance the provider itself named, where it did
}

// The bounds, in bytes, of what an Error keeps of the other side's words.
const (
	LabelLimit   = 256
	MessageLimit = 4096
)

// Error says the category and the provider's words.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Category)
	}
	return string(e.Category) + ": " + e.Message
}

// Categories are all of them, in the order above. The slice is the caller's.
func Categories() []Category {
	return []Category{
		RateLimited, Overloaded, Quota, Refused, ContextTooLong, Authentication,
		BadRequest, ServerError, Network, Malformed, Timeout,
	}
}

// ErrNoModel: neither the run, nor the agent, nor a provider's key names a model.
var ErrNoModel = fault.New(fault.FailedPrecondition, "NO_MODEL",
	"no model is named: name one with --model or in the agent's spec, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or "+
		"GEMINI_API_KEY; --model scripted:FILE plays a script and needs no key")
