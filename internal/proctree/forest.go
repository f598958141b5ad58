package proctree

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
)

// Forest starts trees and ends them. It is safe for concurrent use.
type Forest struct {
	boot     string
	found    finding
	records  *records
	sys      system
	watcher  *watcher
	log      *slog.Logger
	launcher *launcher

	mu       sync.Mutex
	closed   bool
	starting sync.WaitGroup
	trees    map[string]*Tree // nil while one is being started
}

// Open ends what an earlier process on this folder recorded or marked, and
// proves it gone, before it returns. When ctx ends first, the error is ErrAlive
// and names the pids. The caller closes the forest.
func Open(ctx context.Context, o Options) (*Forest, error) {
	return open(ctx, o, newSystem())
}

func open(ctx context.Context, o Options, sys system) (*Forest, error) {
	log := o.Log
	if log == nil {
		log = slog.Default()
	}
	found := probe(ctx)
	switch {
	case o.Mode == Group && found.mode == Namespace:
		found = finding{mode: Group, reason: "the configuration asks for process groups; " + groupGap}
	case o.Mode != "" && o.Mode != found.mode:
		return nil, fail(ErrMode, nil, "process trees cannot be held by %s: %s", o.Mode, found.reason)
	}
	records, err := openRecords(o.Dir, log)
	if err != nil {
		return nil, err
	}
	watcher := &watcher{sys: sys}
	if err := clean(ctx, records, watcher); err != nil {
		return nil, err
	}
	if found.mode == Group {
		adopt()
	}
	f := &Forest{boot: o.Boot, found: found, records: records, sys: sys, watcher: watcher, log: log, launcher: newLauncher(), trees: map[string]*Tree{}}
	return f, nil
}

// Mode is the mode in use.
func (f *Forest) Mode() Mode { return f.found.mode }

// Reason says why the mode is not Namespace, and what that leaves open; "" when
// it is.
func (f *Forest) Reason() string { return f.found.reason }

// Start starts a command. The answer's Done must not be waited for by the
// goroutine that Output needs. Errors: ErrClosed, ErrDuplicate, ErrStart, ErrDir.
func (f *Forest) Start(s Spec) (*Tree, error) {
	if err := f.reserve(s.ID); err != nil {
		return nil, err
	}
	defer f.starting.Done()
	t, err := f.launch(s)
	if err != nil {
		f.forget(s.ID)
		return nil, err
	}
	f.mu.Lock()
	f.trees[s.ID] = t
	f.mu.Unlock()
	go t.run()
	return t, nil
}

func (f *Forest) reserve(id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	if _, taken := f.trees[id]; taken {
		return fail(ErrDuplicate, nil, "a process tree %q is running", id)
	}
	f.trees[id] = nil
	f.starting.Add(1)
	return nil
}

func (f *Forest) forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.trees, id)
}

// Select answers the running trees that match, the oldest first. A nil match
// takes all.
func (f *Forest) Select(match func(Spec) bool) []*Tree {
	f.mu.Lock()
	defer f.mu.Unlock()
	var chosen []*Tree
	for _, t := range f.trees {
		if t != nil && (match == nil || match(t.spec)) {
			chosen = append(chosen, t)
		}
	}
	slices.SortFunc(chosen, func(a, b *Tree) int {
		return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.spec.ID, b.spec.ID))
	})
	return chosen
}

// Close ends all trees at once; nil means that they are proven gone. When ctx
// ends before, the error is ErrAlive and Close may be called again. Start fails
// from the first call on.
func (f *Forest) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.starting.Wait()
	trees := f.Select(nil)
	for _, t := range trees {
		t.order(0)
	}
	var left []process
	for _, t := range trees {
		select {
		case <-t.done:
		case <-ctx.Done():
			left = append(left, t.living()...)
		}
	}
	f.launcher.stop()
	for _, t := range trees {
		if !t.over() {
			return alive(left)
		}
	}
	return nil
}
