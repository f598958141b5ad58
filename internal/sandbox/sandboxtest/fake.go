// Package sandboxtest is the suite that every sandbox driver passes, and a driver in
// memory that fails on command.
package sandboxtest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// World is where fakes keep their sandboxes: two fakes over one world are one driver
// before and after a restart.
type World struct {
	mu    sync.Mutex
	boxes map[sandbox.Key]*Box
}

// Box is a sandbox of a World.
type Box struct {
	State  sandbox.State
	Epoch  int64
	Starts int
	Env    sandbox.Env
	Files  map[string]string
}

// Call is one that a Fake got.
type Call struct {
	Method string
	Key    sandbox.Key
	Env    sandbox.Env
}

// Fake is a driver in memory. Its zero value, with a World, works.
type Fake struct {
	World *World
	// Fail is asked before each call and may refuse it; nil refuses none.
	Fail func(Call) error

	mu    sync.Mutex
	calls []Call
}

var _ sandbox.Provisioner = (*Fake)(nil)

// NewFake makes one with a world of its own.
func NewFake() *Fake { return &Fake{World: &World{}} }

// Calls are those that it got, the oldest first, refused ones too.
func (f *Fake) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *Fake) enter(ctx context.Context, c Call) error {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	f.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.Fail != nil {
		return f.Fail(c)
	}
	return nil
}

// EnsureSession makes it run.
func (f *Fake) EnsureSession(ctx context.Context, id string, env sandbox.Env) error {
	return f.ensure(ctx, "EnsureSession", sandbox.Key{Scope: sandbox.Session, ID: id}, env)
}

// EnsureWorkflow makes it run.
func (f *Fake) EnsureWorkflow(ctx context.Context, id string, env sandbox.Env) error {
	return f.ensure(ctx, "EnsureWorkflow", sandbox.Key{Scope: sandbox.Workflow, ID: id}, env)
}

// CreateConnect makes one that keeps nothing.
func (f *Fake) CreateConnect(ctx context.Context, request string, env sandbox.Env) error {
	return f.ensure(ctx, "CreateConnect", sandbox.Key{Scope: sandbox.Connect, ID: request}, env)
}

func (f *Fake) ensure(ctx context.Context, method string, k sandbox.Key, env sandbox.Env) error {
	if err := k.Check(); err != nil {
		return err
	}
	if err := f.enter(ctx, Call{method, k, env}); err != nil {
		return err
	}
	return f.World.change(func(boxes map[sandbox.Key]*Box) {
		b := boxes[k]
		if b == nil {
			b = &Box{Files: map[string]string{}}
			boxes[k] = b
		}
		if b.State != sandbox.Running {
			b.State, b.Env = sandbox.Running, env
			b.Epoch++
			b.Starts++
		}
	})
}

// Stop keeps the workspace.
func (f *Fake) Stop(ctx context.Context, k sandbox.Key) error {
	if err := f.enter(ctx, Call{Method: "Stop", Key: k}); err != nil {
		return err
	}
	return f.World.change(func(boxes map[sandbox.Key]*Box) {
		if b := boxes[k]; b != nil && k.Scope.Keeps() {
			b.State = sandbox.Stopped
			return
		}
		delete(boxes, k)
	})
}

// Deprovision removes it.
func (f *Fake) Deprovision(ctx context.Context, k sandbox.Key) error {
	if err := f.enter(ctx, Call{Method: "Deprovision", Key: k}); err != nil {
		return err
	}
	return f.World.change(func(boxes map[sandbox.Key]*Box) { delete(boxes, k) })
}

// Probe answers its state.
func (f *Fake) Probe(ctx context.Context, k sandbox.Key) (state sandbox.State, err error) {
	if err := f.enter(ctx, Call{Method: "Probe", Key: k}); err != nil {
		return "", err
	}
	state = sandbox.Absent
	return state, f.World.change(func(boxes map[sandbox.Key]*Box) {
		if b := boxes[k]; b != nil {
			state = b.State
		}
	})
}

// List finds all of its world.
func (f *Fake) List(ctx context.Context) (found []sandbox.Found, err error) {
	if err := f.enter(ctx, Call{Method: "List"}); err != nil {
		return nil, err
	}
	err = f.World.change(func(boxes map[sandbox.Key]*Box) {
		for k, b := range boxes {
			s := sandbox.Found{Key: k, Name: sandbox.Name(k), State: b.State, Epoch: b.Epoch}
			if b.State == sandbox.Running {
				s.Started = time.Now()
			}
			found = append(found, s)
		}
	})
	slices.SortFunc(found, func(a, b sandbox.Found) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

// Close does nothing: the world goes on.
func (f *Fake) Close() error { return nil }

// Box is a copy of a sandbox; nil when there is none.
func (w *World) Box(k sandbox.Key) *Box {
	var found *Box
	_ = w.change(func(boxes map[sandbox.Key]*Box) {
		if b := boxes[k]; b != nil {
			c := *b
			found = &c
		}
	})
	return found
}

func (w *World) change(do func(map[sandbox.Key]*Box)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.boxes == nil {
		w.boxes = map[sandbox.Key]*Box{}
	}
	do(w.boxes)
	return nil
}
