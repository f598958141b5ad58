package lane

import (
	"context"
	"errors"
	"time"

	"github.com/cadre-dev/cadre/internal/failpoint"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
)

// Ending is how a sandbox is ended.
type Ending struct {
	Epoch  int64 // that was seen; 0 for whichever
	Held   bool  // although somebody holds it
	Remove bool  // with its workspace and its lease
}

// Stop ends what runs of a sandbox. Until it is over nobody starts it anew; when it fails,
// the sandbox is left for the next who tries, once its time is over.
func (s *Leases) Stop(ctx context.Context, k sandbox.Key, e Ending) error {
	l, err := s.o.Store.DrainSandbox(ctx, store.SandboxDrain{
		SandboxKey: rowKey(k), Epoch: e.Epoch, Held: e.Held, Node: s.o.Node, Boot: s.o.Boot, Limit: s.o.StopTime, Now: s.o.Now(),
	})
	if err != nil {
		return err
	}
	failpoint.Hit("sandbox.draining")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within(s.o.StopTime)) // it ends before another process may begin
	defer cancel()
	if err := s.end(ctx, k, e.Remove); err != nil {
		return err
	}
	failpoint.Hit("sandbox.drained")
	return s.o.Store.DrainedSandbox(ctx, l, e.Remove, s.o.Now())
}

func (s *Leases) end(ctx context.Context, k sandbox.Key, remove bool) (err error) {
	defer caught(&err)
	if remove {
		return s.o.Provisioner.Deprovision(ctx, k)
	}
	return s.o.Provisioner.Stop(ctx, k)
}

// askTime is how long the program inside has to end what it runs, before its sandbox is
// stopped as a whole.
const askTime = 3 * time.Second

// End ends what a session's commands left in its sandbox, of one execution or, with "", of
// all, and returns when it is proven gone. A program inside that does not answer loses its
// sandbox: the stop is the proof.
func (s *Leases) End(ctx context.Context, session, execution string, forget bool) error {
	if s == nil {
		return nil
	}
	k := sandbox.Key{Scope: sandbox.Session, ID: session}
	l, err := s.o.Store.Sandbox(ctx, rowKey(k))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case l.Liveness != store.SandboxWarm || l.Node != "" && l.Node != s.o.Node:
		return nil // no command runs, or none that this server started
	}
	line := s.line(k)
	if !line.Connected() {
		state, err := s.o.Provisioner.Probe(ctx, k)
		if err != nil || state != sandbox.Running {
			return err
		}
	}
	ask, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err = s.ask(ask, k, l, session, execution, forget)
	if err == nil {
		return nil
	}
	s.o.Log.WarnContext(ctx, "what runs in a sandbox cannot be ended from inside; it is stopped as a whole", "sandbox", k.String(), "error", err)
	if serr := s.Stop(ctx, k, Ending{Epoch: l.Epoch, Held: true}); serr != nil && fault.ReasonOf(serr) != fault.ReasonOf(store.ErrSandboxLost) {
		return errors.Join(err, serr)
	}
	return nil
}

// ask has the program inside end processes.
func (s *Leases) ask(ctx context.Context, k sandbox.Key, l store.SandboxLease, session, execution string, forget bool) error {
	if !s.line(k).Connected() {
		j, _ := s.start(k, l, s.adopt)
		select {
		case <-j.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if errors.Is(j.err, errGone) {
			return nil
		}
		if j.err != nil {
			return j.err
		}
	}
	return s.line(k).End(ctx, session, execution, forget)
}
