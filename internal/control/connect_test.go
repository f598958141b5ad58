package control

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

// rows is the part of a ledger that a welcome reads and writes.
type rows struct {
	store.Store
	dead []store.LiveAttempt
	open []store.Nudge

	mu     sync.Mutex
	engine string
}

func (r *rows) Disown(context.Context, string, string, time.Time) ([]store.LiveAttempt, error) {
	return r.dead, nil
}

func (r *rows) EngineID(context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.engine, nil
}

func (r *rows) SetEngineID(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine = id
	return nil
}

func (r *rows) Open(_ context.Context, after string, _ int) ([]store.Nudge, error) {
	if after != "" {
		return nil, nil
	}
	return r.open, nil
}

// recorder is an engine that tells what is asked of it, and refuses some calls.
type recorder struct {
	engine.Engine
	refuse  int // calls of Abandon
	refs    chan []engine.ActivityRef
	woken   chan string
	pending sync.Mutex
}

func (r *recorder) Abandon(_ context.Context, refs []engine.ActivityRef) error {
	r.pending.Lock()
	defer r.pending.Unlock()
	if r.refuse > 0 {
		r.refuse--
		return engine.ErrUnavailable.Because(errors.New("on purpose"))
	}
	r.refs <- refs
	return nil
}

func (r *recorder) Wake(_ context.Context, session string, _ int64) error {
	r.woken <- session
	return nil
}

// welcomed starts a control on rows that are bound to the engine "eng_1".
func welcomed(t *testing.T, e *recorder) (*Control, *rows) {
	t.Helper()
	attempt := func(boot, activity string) store.LiveAttempt {
		return store.LiveAttempt{BootEpoch: boot, Workflow: "w", Run: "r", Activity: activity}
	}
	r := &rows{
		engine: "eng_1",
		dead:   []store.LiveAttempt{attempt("dead", "2"), attempt("dead", "")},
		open:   []store.Nudge{{Session: "a", Revision: 1}, {Session: "b", Revision: 2}},
	}
	e.refs, e.woken = make(chan []engine.ActivityRef, 10), make(chan string, 100)
	c := New(Options{Store: r, Engine: e, BootEpoch: "mine", Now: time.Now, DispatchEvery: time.Hour, Log: slog.New(slog.DiscardHandler)})
	if err := errors.Join(c.Inherit(t.Context()), c.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	return c, r
}

// told reads what one welcome asked of the engine.
func told(e *recorder) (refs []engine.ActivityRef, sessions []string) {
	refs = <-e.refs
	sessions = []string{<-e.woken, <-e.woken}
	slices.Sort(sessions)
	return refs, sessions
}

func TestKnownEngineIsToldWhatIsOpenAndWhoDied(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e := &recorder{refuse: 2}
	c, _ := welcomed(t, e)
	defer c.Stop()
	for range 2 { // for the first time and again
		c.Connected(t.Context(), "eng_1")
		refs, sessions := told(e)
		if len(refs) != 1 || refs[0].Activity != "2" {
			t.Errorf("abandoned %v; want the attempt of the dead process", refs)
		}
		if !slices.Equal(sessions, []string{"a", "b"}) {
			t.Errorf("woken: %v", sessions)
		}
	}
}

func TestAnotherEngineIsBoundAndToldWhatIsOpen(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e := &recorder{}
	c, r := welcomed(t, e)
	defer c.Stop()
	c.Connected(t.Context(), "eng_2")
	refs, sessions := told(e)
	if len(refs) != 0 {
		t.Errorf("abandoned %v in an engine that knows none of it", refs)
	}
	if !slices.Equal(sessions, []string{"a", "b"}) {
		t.Errorf("woken: %v", sessions)
	}
	if id, _ := r.EngineID(t.Context()); id != "eng_2" {
		t.Errorf("the ledger is bound to %s", id)
	}
}

func TestUnreachedEngineIsToldNothing(t *testing.T) {
	t.Parallel()
	e := &recorder{}
	c, _ := welcomed(t, e)
	c.Stop()
	if len(e.refs)+len(e.woken) != 0 {
		t.Error("an engine was told something that was never reached")
	}
}
