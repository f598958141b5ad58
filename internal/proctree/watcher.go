package proctree

import "sync"

// watcher lets many trees share one look at the system. A look that it answers
// always began after it was asked for.
type watcher struct {
	sys system

	one  sync.Mutex // one look at a time
	mu   sync.Mutex
	next *glance // has not begun; nil when there is none
}

// glance is one look, for all that asked before it began.
type glance struct {
	once sync.Once
	view *view
	err  error
}

// look answers the table as it is now.
func (w *watcher) look() (*view, error) {
	w.mu.Lock()
	if w.next == nil {
		w.next = &glance{}
	}
	g := w.next
	w.mu.Unlock()
	g.once.Do(func() {
		w.one.Lock()
		defer w.one.Unlock()
		w.mu.Lock()
		w.next = nil // who comes from here on gets another look
		w.mu.Unlock()
		rows, err := w.sys.table()
		g.view, g.err = &view{rows: rows, sys: w.sys, marks: map[int]string{}}, err
	})
	return g.view, g.err
}

// view is the table of one look, with the markers that somebody asked for.
type view struct {
	rows []process
	sys  system

	mu    sync.Mutex
	marks map[int]string
}

func (v *view) marker(pid int) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	mark, known := v.marks[pid]
	if !known {
		mark = v.sys.marker(pid)
		v.marks[pid] = mark
	}
	return mark
}
