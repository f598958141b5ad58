package lane

import (
	"context"
	"errors"
	"time"

	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/identity"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// warm makes or starts a sandbox whose lease is this process's to warm. A failure makes it
// cold again.
func (s *Leases) warm(ctx context.Context, k sandbox.Key, l *store.SandboxLease) error {
	// Who read the lease before another start of this epoch ended comes too late.
	is, err := s.o.Store.Sandbox(ctx, rowKey(k))
	if errors.Is(err, store.ErrNotFound) || err == nil && (is.Liveness != store.SandboxWarming || is.Epoch != l.Epoch || is.Boot != l.Boot) {
		return errGone
	}
	if err == nil {
		err = s.reach(ctx, k, l)
	}
	if err == nil {
		failpoint.Hit("sandbox.warmed")
		err = s.o.Store.WarmedSandbox(ctx, *l, s.o.Now())
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, store.ErrSandboxLost) {
		return errGone // another process took it over, and it is theirs to end
	}
	keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if cerr := s.o.Store.CooledSandbox(keep, *l, s.o.Now()); cerr != nil && !errors.Is(cerr, store.ErrSandboxLost) {
		s.o.Log.WarnContext(ctx, "a sandbox that did not start is still noted as starting", "sandbox", k.String(), "error", cerr)
	}
	s.o.Log.WarnContext(ctx, "sandbox did not start", "sandbox", k.String(), "epoch", l.Epoch, "error", err)
	return err
}

// adopt reaches a sandbox that was warm before this process knew it. One that does not run
// any more is cold.
func (s *Leases) adopt(ctx context.Context, k sandbox.Key, l *store.SandboxLease) error {
	state, err := s.o.Provisioner.Probe(ctx, k)
	if err != nil {
		return err
	}
	if state != sandbox.Running {
		if err := s.o.Store.CooledSandbox(ctx, *l, s.o.Now()); err != nil && !errors.Is(err, store.ErrSandboxLost) {
			return err
		}
		return errGone
	}
	was := l.Root
	if err := s.reach(ctx, k, l); err != nil {
		return err
	}
	if was != "" && was != l.Root {
		return &workspace.RootChanged{Was: was, Is: l.Root}
	}
	return nil
}

// reach makes a sandbox run, waits until the program inside is connected, and notes what
// it is.
func (s *Leases) reach(ctx context.Context, k sandbox.Key, l *store.SandboxLease) error {
	failpoint.Hit("sandbox.ensure")
	// Nothing inside asks the server for anything in this placement: there is no token.
	if err := s.o.Provisioner.EnsureSession(ctx, k.ID, sandbox.NewEnv(SessionQueue(k.ID), "", identity.Internal)); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, s.o.ConnectTime)
	defer cancel()
	for {
		w, err := s.line(k).Open(wait)
		if err == nil {
			l.Root = w.Name()
			l.Image = s.image(ctx, k, l.Image)
			return w.Close()
		}
		if wait.Err() != nil || !errors.Is(err, workspace.ErrFailed) {
			return sandbox.ErrFailed.Saying("the program inside the sandbox does not answer: %v", err).Because(err)
		}
		again := time.NewTimer(s.o.Poll)
		select {
		case <-again.C:
		case <-wait.Done():
		}
		again.Stop()
	}
}

// image is what the driver says that a sandbox was made from.
func (s *Leases) image(ctx context.Context, k sandbox.Key, before string) string {
	all, err := s.o.Provisioner.List(ctx)
	if err != nil {
		return before
	}
	for _, f := range all {
		if f.Key == k {
			return f.Image
		}
	}
	return before
}
