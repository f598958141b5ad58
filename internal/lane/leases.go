package lane

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/workspace"
)

// LeaseOptions of Leases.
type LeaseOptions struct {
	Provisioner sandbox.Provisioner
	Line        func(sandbox.Key) Line // the server's end of a sandbox; nil where the driver opened none
	Store       store.Sandboxes
	Node        string // this server; "" for sandboxes that every server reaches
	Boot        string // this process
	Now         func() time.Time
	Log         *slog.Logger
	// WarmTime bounds a start; an image may have to be fetched. Default 20 min.
	WarmTime time.Duration
	// ConnectTime bounds how long the program inside may take to connect. Default 1 min.
	ConnectTime time.Duration
	// StopTime bounds an end. Default 1 min.
	StopTime time.Duration
	// Poll is the time between two looks at what another server does. Default 100 ms.
	Poll time.Duration
}

// Leases give sandboxes to those who use them, in placement hands: the first one starts a
// sandbox, everybody who uses it keeps it, and of all servers and processes one starts or
// ends it at a time. Safe for concurrent use. Nil is none. Make it with NewLeases.
type Leases struct {
	o      LeaseOptions
	ctx    context.Context // of starts: they outlive those who wait for them
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	starts  map[start]*starting
	stopped bool
}

// start names one warming, or the first reach to a sandbox that was warm before.
type start struct {
	key   sandbox.Key
	epoch int64
}

// starting is one under way.
type starting struct {
	done  chan struct{}
	lease store.SandboxLease
	err   error
}

// NewLeases makes them.
func NewLeases(o LeaseOptions) *Leases {
	o.WarmTime, o.ConnectTime = or(o.WarmTime, 20*time.Minute), or(o.ConnectTime, time.Minute)
	o.StopTime, o.Poll = or(o.StopTime, time.Minute), or(o.Poll, 100*time.Millisecond)
	ctx, cancel := context.WithCancel(context.Background())
	return &Leases{o: o, ctx: ctx, cancel: cancel, starts: map[start]*starting{}}
}

func or(d, usual time.Duration) time.Duration {
	if d == 0 {
		return usual
	}
	return d
}

// Close ends starts that are under way. What runs goes on.
func (s *Leases) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.cancel()
	s.all.Wait()
}

// Use is who wants a session's sandbox.
type Use struct {
	Session   string
	Execution string
	Holder    string              // an attempt, or what else uses it; unique
	Until     time.Time           // zero: as long as the attempt of that id is alive
	Prefetch  bool                // nobody waits for it
	Tell      func(proto.Message) // of a start, as payloads of events; nil for nobody
}

// ErrElsewhere: the sandbox is on the machine of another server.
var ErrElsewhere = fault.New(fault.FailedPrecondition, "SANDBOX_ELSEWHERE", "the sandbox is on another server's machine")

// errGone: what was warm does not run any more; it is held anew.
var errGone = errors.New("the sandbox does not run any more")

// Open gives the folder inside the session's sandbox, which it starts where it does not
// run. Close of the answer lets go of the sandbox. What passes by itself is a
// workspace.StartUnavailable: nothing was sent to the sandbox.
func (s *Leases) Open(ctx context.Context, u Use) (workspace.Workspace, error) {
	k := sandbox.Key{Scope: sandbox.Session, ID: u.Session}
	for {
		l, err := s.hold(ctx, u)
		if err != nil {
			return nil, err
		}
		ready, err := s.step(ctx, u, k, l)
		if err == nil && ready {
			var w workspace.Workspace
			if w, err = s.line(k).Open(ctx); err == nil {
				return &held{Workspace: w, release: func() error { return s.release(k, u.Holder) }}, nil
			}
		}
		if err != nil {
			return nil, errors.Join(unavailable(ctx, err), s.release(k, u.Holder))
		}
	}
}

func (s *Leases) hold(ctx context.Context, u Use) (store.SandboxLease, error) {
	return s.o.Store.HoldSandbox(ctx, store.SandboxHold{
		SandboxKey: store.SandboxKey{Scope: string(sandbox.Session), ID: u.Session},
		Holder:     store.SandboxHolder{ID: u.Holder, Execution: u.Execution, Until: u.Until},
		Node:       s.o.Node, Boot: s.o.Boot, Limit: s.o.WarmTime, Now: s.o.Now(),
	})
}

// Keep holds what is open already for longer, until u.Until.
func (s *Leases) Keep(ctx context.Context, u Use) error {
	_, err := s.hold(ctx, u)
	return err
}

func rowKey(k sandbox.Key) store.SandboxKey {
	return store.SandboxKey{Scope: string(k.Scope), ID: k.ID}
}

// unavailable is an error of a start as those see it who wait: what somebody has to mend
// stays what it is.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var moved *workspace.RootChanged
	switch fault.CodeOf(err) {
	case fault.FailedPrecondition, fault.InvalidArgument, fault.Unimplemented, fault.PermissionDenied:
		return err
	}
	if errors.As(err, &moved) {
		return err
	}
	return &workspace.StartUnavailable{Err: err}
}

// line is the server's end of a sandbox, also of one that has none.
func (s *Leases) line(k sandbox.Key) Line {
	if l := s.o.Line(k); l != nil {
		return l
	}
	return noLine{}
}

// step brings a lease further: true when the sandbox is warm and connected here.
func (s *Leases) step(ctx context.Context, u Use, k sandbox.Key, l store.SandboxLease) (ready bool, err error) {
	switch {
	case l.Node != s.o.Node && l.Node != "":
		return false, ErrElsewhere.Saying("the sandbox of the session %s is on the machine of the server %s, and this one cannot reach it: start that server again, or begin a new session", u.Session, l.Node)
	case l.Liveness == store.SandboxWarming && l.Boot == s.o.Boot:
		return false, s.await(ctx, u, k, l, s.warm)
	case l.Liveness == store.SandboxWarm && s.line(k).Connected():
		return true, nil
	case l.Liveness == store.SandboxWarm:
		u.Tell = nil
		return false, s.await(ctx, u, k, l, s.adopt)
	}
	timer := time.NewTimer(s.o.Poll)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// await waits for a start, which it begins where nobody has, and tells of it.
func (s *Leases) await(ctx context.Context, u Use, k sandbox.Key, l store.SandboxLease, do func(context.Context, sandbox.Key, *store.SandboxLease) error) error {
	j, mine := s.start(k, l, do)
	tell := func(m proto.Message) {
		if mine && u.Tell != nil {
			u.Tell(m)
		}
	}
	began := s.o.Now()
	tell(&eventv1.SandboxWarming{Epoch: l.Epoch, Prefetch: u.Prefetch})
	select {
	case <-j.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case errors.Is(j.err, errGone):
		return nil
	case j.err != nil:
		tell(&eventv1.SandboxFailed{Epoch: l.Epoch, Message: bounded(j.err)})
		return j.err
	}
	tell(&eventv1.SandboxReady{Epoch: l.Epoch, DurationMs: s.o.Now().Sub(began).Milliseconds(), Image: j.lease.Image, Root: j.lease.Root})
	return nil
}

// start begins one, or finds the one under way.
func (s *Leases) start(k sandbox.Key, l store.SandboxLease, do func(context.Context, sandbox.Key, *store.SandboxLease) error) (j *starting, mine bool) {
	name := start{k, l.Epoch}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.starts[name]; j != nil {
		return j, false
	}
	j = &starting{done: make(chan struct{}), lease: l}
	if s.stopped {
		j.err = fault.New(fault.Unavailable, "STOPPING", "the server stops; no sandbox is started any more")
		close(j.done)
		return j, true
	}
	s.starts[name] = j
	s.all.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, within(s.o.WarmTime))
		defer cancel()
		func() {
			defer caught(&j.err)
			j.err = do(ctx, k, &j.lease)
		}()
		s.mu.Lock()
		delete(s.starts, name)
		s.mu.Unlock()
		close(j.done)
	})
	return j, true
}

// within leaves some of a lease's time: who holds it must be done before it is over.
func within(limit time.Duration) time.Duration { return limit * 9 / 10 }

func (s *Leases) release(k sandbox.Key, holder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s.o.Store.ReleaseSandbox(ctx, rowKey(k), holder, s.o.Now())
}

// held is a folder that lets go of its sandbox.
type held struct {
	workspace.Workspace
	once    sync.Once
	release func() error
}

// Close lets go of the sandbox.
func (h *held) Close() (err error) {
	h.once.Do(func() { err = errors.Join(h.Workspace.Close(), h.release()) })
	return err
}

// noLine is the line of a driver that opens none.
type noLine struct{}

func (noLine) Open(context.Context) (workspace.Workspace, error) {
	return nil, fault.New(fault.Unimplemented, "SANDBOX_WITHOUT_LINE", "the sandbox driver opened no line to the program inside, so that no tool can work there")
}
func (noLine) Connected() bool                                 { return false }
func (noLine) End(context.Context, string, string, bool) error { return workspace.ErrFailed }
func (noLine) Close() error                                    { return nil }
