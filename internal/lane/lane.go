// Package lane decides which sandbox a run has: where its activities are sent, when a
// sandbox is made for them, with which credential, and when it is removed.
//
// Promise: a session's sandbox that cannot be made never fails the accepted run and is
// never silent; a workflow's is there before its execution is stored, or the execution is
// refused. Ends are told once and removed without making anybody wait. A lane without a
// provisioner does nothing at all, and costs no read of the store. Safe for concurrent use.
//
// Leases are the other placement: tools of a trusted runner reach the sandbox, which is
// started when the first one needs it and kept while somebody uses it.
package lane

import (
	"context"
	"log/slog"
	"sync"

	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
)

// Caller is on whose behalf a sandbox is made: the class goes to the driver, the id to
// the mint.
type Caller struct {
	Class identity.Class
	ID    string
}

// CallerOf are the two facts of a request's caller.
func CallerOf(c identity.Caller) Caller { return Caller{Class: c.Class, ID: c.ID} }

// Store is what the lane reads and stamps.
type Store interface {
	Get(ctx context.Context, kind resource.Kind, id string) (store.Row, error)
	Update(ctx context.Context, kind resource.Kind, id string, once *store.Once, change func(store.Row) (store.Row, error)) (store.Row, error)
}

// Options of a Lane. Without a provisioner the rest is not looked at.
type Options struct {
	Provisioner sandbox.Provisioner // nil: the lane is disabled
	Settings    Settings
	Mint        Mint // nil: sandboxes get no token
	Store       Store
	Leases      *Leases // nil in placement runner
	Log         *slog.Logger
}

// Lane is the way of runs to their sandboxes. Nil is a disabled one.
type Lane struct {
	o    Options
	ends sync.WaitGroup
}

// New makes it; nil when there is no provisioner.
func New(o Options) *Lane {
	if o.Provisioner == nil {
		return nil
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Lane{o: o}
}

// Close waits for removals in progress, until ctx ends.
func (l *Lane) Close(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.o.Leases.Close()
	done := make(chan struct{})
	go func() { l.ends.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return l.o.Provisioner.Close()
}

// token is what the sandbox of a run gets.
func (l *Lane) token(ctx context.Context, r MintRequest) (string, error) {
	if l.o.Mint == nil {
		l.o.Log.WarnContext(ctx, "sandbox starts without a token: what it asks of the server is answered redacted", "scope", string(r.Scope), "execution", r.Execution)
		return "", nil
	}
	return l.o.Mint.Mint(ctx, r)
}

// cloud tells whether a target means a sandbox.
func (s Settings) cloud(t sessionv1.ExecutionTarget) bool {
	if t == sessionv1.ExecutionTarget_execution_target_unspecified {
		t = s.Target
	}
	return t == sessionv1.ExecutionTarget_cloud
}
