// Package pipeline answers requests by named steps. A verb is a list of steps
// and nothing else, so that what happens to a request can be read, printed and
// tested as a sentence. The standard verbs of declared kinds are here; a kind
// adds what is its own.
//
// Promise: the first step that fails ends the request, and nothing is written
// before the one step that persists.
package pipeline

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	artifactv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/artifact/v1"
	"github.com/cadre-dev/cadre/internal/artifact"
	"github.com/cadre-dev/cadre/internal/authz"
	"github.com/cadre-dev/cadre/internal/eventlog"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/model"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/search"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Deps is what steps work with.
type Deps struct {
	Store     store.Store
	Authz     authz.Authorizer
	Validator *Validator
	Log       *eventlog.Log
	Models    Models
	Catalogue Catalogue
	Artifacts artifact.Store
	Tools     Tools
	Now       func() time.Time
	// BodyDigest is a keyed digest of a request's bytes.
	BodyDigest func([]byte) string
	// Wake nudges the engine after a commit. It never fails: what it cannot deliver
	// stays in the outbox.
	Wake func(session string, revision int64)
	// Tell stops a running attempt on this node at once.
	Tell func(store.Fence)
	// Stalled says why a session's turn does not go on although it runs; "" when nothing
	// is in its way. It may be some seconds old. Nil where the store has one server alone.
	Stalled func(ctx context.Context, session string) (string, error)
	// Link signs a short-lived address for an artifact's bytes.
	Link func(*artifactv1.Artifact) (url string, expires time.Time)
	// Processes are what tool calls started.
	Processes Processes
	// Search finds resources of every kind.
	Search search.Searcher
	// Lane makes and removes the sandboxes of runs; nil makes none.
	Lane *lane.Lane
}

// Processes ends what tool calls started, and proves it gone. What is still alive
// after some seconds stands in the log.
type Processes interface {
	// End ends those of an execution, or with "" of the whole session.
	End(ctx context.Context, session, execution string)
	// Forget ends those of a deleted session and drops what they printed.
	Forget(ctx context.Context, session string)
}

// Models checks and identifies models by name.
type Models interface {
	Open(ctx context.Context, name string) (model.Model, error)
	Fingerprint(ctx context.Context, name string) (string, error)
	// Names are the providers, sorted.
	Names() []string
}

// Catalogue knows which model is used when none is named.
type Catalogue interface {
	// Default is the first default model for which usable answers true; "" when there
	// is none.
	Default(usable func(name string) bool) string
}

// Tools finds tools by name.
type Tools interface {
	Tool(name string) (tool.Tool, bool)
	Names() []string
}

// Request is one request on its way through its verb's steps.
type Request struct {
	Caller    identity.Caller
	Procedure string
	Message   proto.Message // as it came; steps do not change it
	Answer    proto.Message

	Org      string        // the organization that the request names, or the default
	Ref      resource.Ref  // what it refers to
	Desired  proto.Message // a copy of the resource that it carries
	Row      store.Row     // the row that it concerns
	Existing proto.Message // the message in Row
	DryRun   bool
	Once     *store.Once // nil without an idempotency key
	State    any         // a verb's own notes
	done     bool
}

// Finish ends the request with an answer; later steps do not run.
func (r *Request) Finish(answer proto.Message) {
	r.Answer, r.done = answer, true
}

// Step is one named part of a verb.
type Step struct {
	Name string
	Do   func(context.Context, *Request) error
}

// Verb answers one procedure. Exactly one of Steps' last Answer and Stream is
// what the caller gets: a verb with Stream sends many answers after its steps.
type Verb struct {
	Procedure  string
	Permission string
	Kind       resource.Kind
	Public     bool // answers callers without a token
	Output     func() proto.Message
	Steps      []Step
	// After runs behind the last step, when the request was carried out and not answered
	// from memory. It cannot fail the request; nil for nothing.
	After  *After
	Stream func(ctx context.Context, r *Request, send func(proto.Message) error) error
}

// After is what a verb does once its request is through.
type After struct {
	Name string
	Do   func(context.Context, *Request)
}

// Sentence says what the verb does, step by step.
func (v Verb) Sentence() string {
	names := make([]string, len(v.Steps))
	for i, s := range v.Steps {
		names[i] = s.Name
	}
	s := v.Procedure + ": " + strings.Join(names, ", ")
	if v.After != nil {
		s += ", and behind that " + v.After.Name
	}
	if v.Stream != nil {
		s += ", then stream"
	}
	return s + "."
}

// Run takes a request through the steps.
func (v Verb) Run(ctx context.Context, r *Request) error {
	for _, s := range v.Steps {
		err := s.Do(ctx, r)
		var replay *store.Replayed
		if errors.As(err, &replay) {
			answer := v.Output()
			if uerr := proto.Unmarshal(replay.Answer, answer); uerr != nil {
				return fault.From(uerr)
			}
			r.Finish(answer)
			return nil
		}
		if err != nil {
			return err
		}
		if r.done {
			return nil
		}
	}
	if v.After != nil {
		v.After.Do(ctx, r)
	}
	return nil
}

// Kind is what a noun registers.
type Kind struct {
	Kind resource.Kind
	New  func() proto.Message
	// Index names the fields, at most four, that lists filter by.
	Index []string
	// Immutable names fields that an update must not change.
	Immutable []string
	// Declared kinds have Create, Update and Apply.
	Declared bool
	// Listed kinds have Get and List.
	Listed bool
	// Deletable kinds have the standard Delete.
	Deletable bool
	// Normalise brings a resource into its canonical form; may be nil.
	Normalise func(proto.Message)
	// Check judges what the rules of the message cannot say, such as references;
	// may be nil.
	Check func(context.Context, Deps, *Request) error
	// CheckDelete may refuse a delete; may be nil.
	CheckDelete func(context.Context, Deps, *Request) error
	// Hydrate adds what is not stored in the row to an answer; may be nil.
	Hydrate func(context.Context, Deps, proto.Message) error
	// Search makes the kind's documents for the search index; nil when it cannot be found.
	Search *search.Extractor
	// Verbs are the kind's own; may be nil.
	Verbs func(Deps) []Verb
}

// Name is the kind's name in storage.
func (k Kind) Name() string { return resource.MustKindName(k.Kind) }
