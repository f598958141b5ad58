// Package store is the seam to the database: one contract, several drivers.
//
// It promises atomicity per resource, and atomicity of each named ledger
// transaction; nothing wider. What one call committed, every later call sees. A
// call that returned nil is durable: it survives loss of power. Every method is
// safe for concurrent use.
//
// Resources are protobuf bytes with index columns; a driver never looks into
// them, except through the shared functions of this package.
package store

import (
	"context"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
)

// Store is all of it.
type Store interface {
	Resources
	Lookups
	Versions
	Ledger
	WorkflowEvents
	ScheduleLedger
	Signals
	Grants
	Leases
	Sandboxes
	Budgets
	Goals
	// Capabilities says what this store can do beyond the contract.
	Capabilities() Capabilities
	// BootState is a small fact that is remembered once per database; "" when it
	// was never set.
	BootState(ctx context.Context, key string) (string, error)
	SetBootState(ctx context.Context, key, value string) error
	// InitBootState sets a fact unless it is set, and answers what it is: of several
	// callers one wins.
	InitBootState(ctx context.Context, key, value string) (string, error)
	// OnCommit names the function that gets the events of each transaction, in the
	// order of their commits and before the committing call returns. It must not
	// block and must not call the store. Set it before the first write.
	OnCommit(func([]*eventv1.Event))
	// Health is nil when the store can write.
	Health(ctx context.Context) error
	// Close waits for calls in progress and releases the database.
	Close() error
}

// Row is a resource as it is stored.
type Row struct {
	Kind       resource.Kind
	ID         string
	Org        string // "" for organizations
	Slug       string
	Name       string
	Visibility string
	Version    int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Labels     map[string]string
	Index      [4]string // values of the kind's indexed fields, in the order in which the kind declares them
	Data       []byte    // the message's bytes, returned exactly as they were given
}

// Ref is how people would name the row: by its slug, when it has one.
func (r Row) Ref() string {
	if r.Slug == "" {
		return r.ID
	}
	return resource.Ref{Org: r.Org, Slug: r.Slug}.String()
}

// Resources keeps rows of any kind.
type Resources interface {
	// Create stores a new row. AlreadyExists when its id, or its slug within (org,
	// kind), is taken.
	Create(ctx context.Context, row Row, once *Once) error
	// Save stores the row, replacing one with the same kind and id.
	Save(ctx context.Context, row Row) error
	// Get reads by id. NotFound when absent.
	Get(ctx context.Context, kind resource.Kind, id string) (Row, error)
	// Lookup reads by slug. NotFound when absent.
	Lookup(ctx context.Context, kind resource.Kind, org, slug string) (Row, error)
	// Update reads a row, changes it and writes it, in one transaction: concurrent
	// updates of one row never lose a change. change must be pure and quick; when it
	// returns an error nothing is written and the error is returned as it is.
	// NotFound when absent.
	Update(ctx context.Context, kind resource.Kind, id string, once *Once, change func(Row) (Row, error)) (Row, error)
	// Delete removes a row and answers it. check may refuse and may be nil.
	// NotFound when absent.
	Delete(ctx context.Context, kind resource.Kind, id string, once *Once, check func(Row) error) (Row, error)
	// List answers one page.
	List(ctx context.Context, q Query) (Page, error)
	// Slugs answers up to limit slugs of a kind in an organization that sort after
	// `after`; for near names in errors.
	Slugs(ctx context.Context, kind resource.Kind, org, after string, limit int) ([]string, error)
	// Recall answers what a call with the same idempotency key was answered. found
	// is false when there was none in the last seven days. ErrOtherBody when it had
	// another body.
	Recall(ctx context.Context, once *Once) (answer []byte, found bool, err error)
}

// Once makes a mutation idempotent: it is written in the mutation's own
// transaction. When the scope is already taken, the mutation does nothing and
// its call returns *Replayed, or ErrOtherBody. A nil *Once means no key.
type Once struct {
	Scope  string        // digest of caller, method, organization and key
	Digest string        // keyed digest of the body
	Answer func() []byte // the answer to keep, called inside the transaction after its change
	Now    time.Time
}

// OnceKept is how long an answer is kept.
const OnceKept = 7 * 24 * time.Hour

// Replayed says that the mutation was made before; Answer is what was answered then.
type Replayed struct{ Answer []byte }

// Error makes it travel as an error.
func (*Replayed) Error() string { return "answered before under the same idempotency key" }

// OtherBody is the fault for a key that comes back with another body.
func OtherBody(first, now string) *fault.Fault {
	return fault.New(fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED",
		"this idempotency key was used with another body (first %s, now %s); use a new key", first, now).
		With("first_digest", first).With("digest", now)
}

// Inspection is what a look into a database tells.
type Inspection struct {
	Exists  bool
	Schema  int64     // its schema's version
	Release int64     // the version that this release makes
	Newest  time.Time // when something was written last; zero when nothing was
	Pending []Step    // of the schema, in the order in which the next open makes them
}

// Errors of the seam, matched by code and reason.
var (
	ErrNotFound  = fault.New(fault.NotFound, "NOT_FOUND", "not found")
	ErrExists    = fault.New(fault.AlreadyExists, "ALREADY_EXISTS", "already exists")
	ErrOtherBody = fault.New(fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED", "this idempotency key was used with another body")
	// ErrFenced: the writer is no longer the owner of the turn. Its events are kept as late_rejected.
	ErrFenced = fault.New(fault.Aborted, "FENCED", "another attempt owns this turn")
	// ErrNoWork: the claim found nothing to claim; peek again.
	ErrNoWork = fault.New(fault.FailedPrecondition, "NO_WORK", "there is nothing to claim")
	// ErrOwned: the claim found a live attempt that nobody has proven gone.
	ErrOwned = fault.New(fault.FailedPrecondition, "ATTEMPT_ALIVE", "another attempt is alive")
	// ErrNewerSchema: the database was written by a newer release.
	ErrNewerSchema = fault.New(fault.FailedPrecondition, "NEWER_SCHEMA", "the database belongs to a newer release")
)
