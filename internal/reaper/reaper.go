// Package reaper stops sandboxes that nobody uses and removes those whose session is gone,
// in the background.
//
// Promise: what somebody holds is never ended. A sandbox that is stopped keeps its
// workspace; only one whose session is gone loses it, after the store was asked again. Each
// end goes by the lease, so that of many servers one does it, and one that dies in the
// middle leaves the rest to the next. Idle means that nobody holds the sandbox, not that
// nothing runs inside. It looks at this server's sandboxes alone.
package reaper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/lane"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
)

// Store is what the reaper reads.
type Store interface {
	store.Sandboxes
	Get(ctx context.Context, kind resource.Kind, id string) (store.Row, error)
}

// Driver finds sandboxes.
type Driver interface {
	List(ctx context.Context) ([]sandbox.Found, error)
}

// Leases end sandboxes.
type Leases interface {
	Stop(ctx context.Context, k sandbox.Key, e lane.Ending) error
}

// Options of a Reaper.
type Options struct {
	Settings
	Store  Store
	Driver Driver
	Leases Leases
	Node   string // this server, as leases name it
	Now    func() time.Time
	Log    *slog.Logger
	// Every is the time between two passes. Default: a quarter of Idle, between a second
	// and a minute.
	Every time.Duration
}

// Reaper is the loop. Make it with New.
type Reaper struct{ Options }

// New makes one.
func New(o Options) *Reaper {
	if o.Idle == 0 {
		o.Idle = 15 * time.Minute
	}
	if o.Age == 0 {
		o.Age = 24 * time.Hour
	}
	if o.Every == 0 {
		o.Every = min(max(o.Idle/4, time.Second), time.Minute)
	}
	return &Reaper{o}
}

// Run makes a pass at once and then again and again, until ctx ends.
func (r *Reaper) Run(ctx context.Context) {
	for {
		sum := r.Pass(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, err := range sum.Failed {
			r.Log.WarnContext(ctx, "a sandbox was not looked after; it is tried again", "error", err)
		}
		if len(sum.Stopped)+len(sum.Removed) > 0 {
			r.Log.InfoContext(ctx, "sandboxes were collected", "stopped", keys(sum.Stopped), "removed", keys(sum.Removed))
		}
		timer := time.NewTimer(r.Every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func keys(all []sandbox.Key) (words []string) {
	for _, k := range all {
		words = append(words, k.String())
	}
	return words
}

// Sum is what a pass did.
type Sum struct {
	Stopped []sandbox.Key
	Removed []sandbox.Key
	Failed  []error
}

// pass is one look, and what it found.
type pass struct {
	*Reaper
	sum    Sum
	leases []store.SandboxLease
	found  map[sandbox.Key]sandbox.Found
	ended  map[sandbox.Key]bool
}

// Pass looks at everything once.
func (r *Reaper) Pass(ctx context.Context) Sum {
	p := &pass{Reaper: r, found: map[sandbox.Key]sandbox.Found{}, ended: map[sandbox.Key]bool{}}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"forget holders", p.forget},
		{"find sandboxes", p.find},
		{"read leases", p.read},
		{"end what was left in the middle", p.stuck},
		{"stop what is idle", p.idle},
		{"stop what is old", p.old},
		{"stop what runs without a lease", p.stray},
		{"remove what belongs to nothing", p.orphans},
	} {
		if err := step.do(ctx); err != nil {
			p.sum.Failed = append(p.sum.Failed, fmt.Errorf("%s: %w", step.what, err))
			break // a later step would judge by what is not known
		}
		if ctx.Err() != nil {
			break
		}
	}
	return p.sum
}

func (p *pass) forget(ctx context.Context) error {
	_, err := p.Store.ForgetHolders(ctx, p.Now())
	return err
}

func (p *pass) find(ctx context.Context) error {
	all, err := p.Driver.List(ctx)
	for _, f := range all {
		p.found[f.Key] = f
	}
	return err
}

// page is how many leases are read at once.
const page = 200

func (p *pass) read(ctx context.Context) error {
	after := store.SandboxKey{}
	for {
		all, err := p.Store.Sandboxes(ctx, after, page)
		if err != nil {
			return err
		}
		for _, l := range all {
			after = l.SandboxKey
			if l.Node == "" || l.Node == p.Node {
				p.leases = append(p.leases, l)
			}
		}
		if len(all) < page {
			return nil
		}
	}
}

// end ends a sandbox. What somebody else took hold of since is left to them.
func (p *pass) end(ctx context.Context, k sandbox.Key, e lane.Ending) {
	p.ended[k] = true
	err := p.Leases.Stop(ctx, k, e)
	switch {
	case errors.Is(err, store.ErrSandboxHeld), errors.Is(err, store.ErrSandboxBusy), errors.Is(err, store.ErrSandboxLost):
	case err != nil:
		p.sum.Failed = append(p.sum.Failed, fmt.Errorf("%s: %w", k, err))
	case e.Remove:
		p.sum.Removed = append(p.sum.Removed, k)
	default:
		p.sum.Stopped = append(p.sum.Stopped, k)
	}
}

func keyOf(l store.SandboxLease) sandbox.Key {
	return sandbox.Key{Scope: sandbox.Scope(l.Scope), ID: l.ID}
}

// each does something with the leases in a state that nothing was done with yet.
func (p *pass) each(state store.Liveness, do func(sandbox.Key, store.SandboxLease)) {
	for _, l := range p.leases {
		if k := keyOf(l); l.Liveness == state && !p.ended[k] {
			do(k, l)
		}
	}
}

// stuck ends what a process began to start or to end and left: its time is over.
func (p *pass) stuck(ctx context.Context) error {
	for _, state := range []store.Liveness{store.SandboxWarming, store.SandboxDraining} {
		p.each(state, func(k sandbox.Key, l store.SandboxLease) { p.end(ctx, k, lane.Ending{Epoch: l.Epoch}) })
	}
	return nil
}

// idle stops what nobody has held for long enough.
func (p *pass) idle(ctx context.Context) error {
	p.each(store.SandboxWarm, func(k sandbox.Key, l store.SandboxLease) {
		if !l.Idle.IsZero() && !p.Now().Before(l.Idle.Add(p.Idle)) {
			p.end(ctx, k, lane.Ending{Epoch: l.Epoch})
		}
	})
	return nil
}

// old stops what runs for too long, and what its provider ends soon, as soon as nobody
// holds it: the next who needs it starts it anew.
func (p *pass) old(ctx context.Context) error {
	p.each(store.SandboxWarm, func(k sandbox.Key, l store.SandboxLease) {
		tooOld := !p.Now().Before(l.Warm.Add(p.Age))
		ends := !l.Deadline.IsZero() && !p.Now().Add(p.Idle).Before(l.Deadline)
		if !l.Idle.IsZero() && (tooOld || ends) {
			p.end(ctx, k, lane.Ending{Epoch: l.Epoch})
		}
	})
	return nil
}

// stray stops what runs and is cold by its lease, or has none: a server died between the two.
func (p *pass) stray(ctx context.Context) error {
	leased := map[sandbox.Key]store.SandboxLease{}
	for _, l := range p.leases {
		leased[keyOf(l)] = l
	}
	for k, f := range p.found {
		l, known := leased[k]
		if f.State == sandbox.Running && k.Scope == sandbox.Session && !p.ended[k] && (!known || l.Liveness == store.SandboxCold) {
			p.end(ctx, k, lane.Ending{Epoch: l.Epoch})
		}
	}
	return nil
}

// orphans removes sandboxes and leases whose session is gone.
func (p *pass) orphans(ctx context.Context) error {
	all := map[sandbox.Key]bool{}
	for k := range p.found {
		all[k] = true
	}
	for _, l := range p.leases {
		all[keyOf(l)] = true
	}
	for k := range all {
		if k.Scope != sandbox.Session {
			continue
		}
		gone, err := p.gone(ctx, k)
		if err != nil {
			return err
		}
		if gone {
			p.end(ctx, k, lane.Ending{Held: true, Remove: true})
		}
	}
	return nil
}

// gone asks the store now, and not what was read before.
func (p *pass) gone(ctx context.Context, k sandbox.Key) (bool, error) {
	_, err := p.Store.Get(ctx, resourcev1.ResourceKind_session, k.ID)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return false, err
}
