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
	Image  string // that it was started from; a running one keeps it
	stop   func() // ends what is inside
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
	// Image is what sandboxes are made from; one that runs keeps its own.
	Image string
	// Lines and Inside make sandboxes reachable: Inside runs the program of one that starts
	// on the socket in a line's folder, until stop is called. Nil: nothing is inside.
	Lines  sandbox.Lines
	Inside func(k sandbox.Key, line string) (stop func())

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
	line := ""
	if f.Lines != nil {
		var err error
		if line, err = f.Lines.Open(k); err != nil {
			return err
		}
	}
	return f.World.change(func(boxes map[sandbox.Key]*Box) {
		b := boxes[k]
		if b == nil {
			b = &Box{Files: map[string]string{}}
			boxes[k] = b
		}
		if b.State != sandbox.Running {
			b.State, b.Env, b.Image = sandbox.Running, env, f.Image
			b.Epoch++
			b.Starts++
			if f.Inside != nil {
				b.stop = f.Inside(k, line)
			}
		}
	})
}

// Stop keeps the workspace.
func (f *Fake) Stop(ctx context.Context, k sandbox.Key) error {
	if err := f.enter(ctx, Call{Method: "Stop", Key: k}); err != nil {
		return err
	}
	return f.World.change(func(boxes map[sandbox.Key]*Box) {
		b := boxes[k]
		b.end()
		if b != nil && k.Scope.Keeps() {
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
	if f.Lines != nil {
		if err := f.Lines.Drop(k); err != nil {
			return err
		}
	}
	return f.World.change(func(boxes map[sandbox.Key]*Box) {
		boxes[k].end()
		delete(boxes, k)
	})
}

// end ends what is inside; nil has nothing.
func (b *Box) end() {
	if b != nil && b.stop != nil {
		b.stop()
		b.stop = nil
	}
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
			s := sandbox.Found{Key: k, Name: sandbox.Name(k), State: b.State, Epoch: b.Epoch, Image: b.Image}
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

// Crash ends a sandbox behind its driver's back; its workspace is kept.
func (w *World) Crash(k sandbox.Key) {
	_ = w.change(func(boxes map[sandbox.Key]*Box) {
		if b := boxes[k]; b != nil {
			b.end()
			b.State = sandbox.Stopped
		}
	})
}

// Close ends what is inside all of them.
func (w *World) Close() {
	_ = w.change(func(boxes map[sandbox.Key]*Box) {
		for _, b := range boxes {
			b.end()
		}
	})
}

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
