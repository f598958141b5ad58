package storetest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// EnvStress is how long Stress lasts, as a duration.
const EnvStress = "CADRE_STRESS"

const (
	stressTime = 5 * time.Second
	writers    = 64
	readers    = 8
	counters   = 8 // rows that all writers change
)

// Stress is quality.md, Reliability 13: 64 writers and 8 readers at once, for 5 seconds
// or what CADRE_STRESS says. No call may fail, busy or not, and nothing that was acknowledged may be
// missing at the end. during is called over and over meanwhile, a backup for
// instance; it may be nil.
func Stress(t *testing.T, open Open, during func(context.Context, store.Store) error) {
	t.Helper()
	lasts := stressTime
	if word := os.Getenv(EnvStress); word != "" {
		var err error
		if lasts, err = time.ParseDuration(word); err != nil {
			t.Fatalf("%s: %v", EnvStress, err)
		}
	}
	w := crush(t, open)
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() { w.repeat(ctx, w.writer(i)) })
	}
	for range readers {
		all.Go(func() { w.repeat(ctx, w.read) })
	}
	if during != nil {
		all.Go(func() { w.repeat(ctx, func() error { return during(t.Context(), w.Store) }) })
	}
	all.Wait()
	w.nothingLost()
	t.Logf("%d writes and %d reads in %v", w.writes.Load(), w.reads.Load(), lasts)
}

// world is a store under stress, and what was acknowledged.
type world struct {
	*fixture
	counters []string
	adds     [counters]atomic.Int64
	turns    []store.Claimed // one for each writer
	began    []int64         // where their logs ended
	appended []atomic.Int64
	writes   atomic.Int64
	reads    atomic.Int64
	failed   atomic.Pointer[error]
}

func crush(t *testing.T, open Open) *world {
	t.Helper()
	w := &world{fixture: setup(t, open), appended: make([]atomic.Int64, writers)}
	for i := range counters {
		r := row(fmt.Sprint("counter", i), "0")
		w.must(w.Create(t.Context(), r, nil))
		w.counters = append(w.counters, r.ID)
	}
	for range writers {
		turn := w.claimed("go")
		log, err := w.Session(t.Context(), turn.Session)
		w.must(err)
		w.turns, w.began = append(w.turns, turn), append(w.began, log.LastSeq)
	}
	return w
}

// repeat calls do until the time is over or something failed.
func (w *world) repeat(ctx context.Context, do func() error) {
	for ctx.Err() == nil && w.failed.Load() == nil {
		if err := do(); err != nil {
			w.failed.CompareAndSwap(nil, &err)
		}
	}
}

// writer makes the writes of one client, in turn: a change of a row that others change
// too, events of a turn, an event of a workflow.
func (w *world) writer(i int) func() error {
	ctx := w.t.Context() // what has begun ends
	n := 0
	return func() (err error) {
		switch n++; n % 3 {
		case 0:
			err = w.add(ctx, (i+n)%counters)
		case 1:
			if err = w.Append(ctx, w.turns[i].Fence, delta("x")); err == nil {
				w.appended[i].Add(1)
			}
		case 2:
			_, err = w.AppendWorkflowEvents(ctx, []store.WorkflowEvent{workflowEvent(fmt.Sprint("wex_", i), int64(n))})
		}
		if err == nil {
			w.writes.Add(1)
		}
		return err
	}
}

func (w *world) add(ctx context.Context, which int) error {
	_, err := w.Update(ctx, agentKind, w.counters[which], nil, func(r store.Row) (store.Row, error) {
		n, err := strconv.Atoi(string(r.Data))
		r.Data = []byte(strconv.Itoa(n + 1))
		return r, err
	})
	if err == nil {
		w.adds[which].Add(1)
	}
	return err
}

// read looks at a page, a row and the end of a log, which has no gap.
func (w *world) read() error {
	ctx := w.t.Context()
	n := w.reads.Add(1)
	if _, err := w.List(ctx, store.Query{Kind: agentKind, Org: "default", Limit: 20}); err != nil {
		return err
	}
	if _, err := w.Get(ctx, agentKind, w.counters[n%counters]); err != nil {
		return err
	}
	turn := int(n % writers)
	after := w.appended[turn].Load() // and the events before the first of these
	events, err := w.Events(ctx, store.EventQuery{Session: w.turns[turn].Session, After: after, Limit: 100, MaxDepth: -1})
	for i, e := range events {
		if e.GetSeq() != after+int64(i)+1 {
			return fmt.Errorf("event %d of a log stands where %d should", e.GetSeq(), after+int64(i)+1)
		}
	}
	return err
}

// nothingLost checks that all that was acknowledged is there, and that there was enough.
func (w *world) nothingLost() {
	w.t.Helper()
	if err := w.failed.Load(); err != nil {
		w.t.Fatalf("a call failed: %v", *err)
	}
	for i, id := range w.counters {
		r, err := w.Get(w.t.Context(), agentKind, id)
		w.must(err)
		if want := w.adds[i].Load(); string(r.Data) != strconv.FormatInt(want, 10) {
			w.t.Errorf("counter %d is %s after %d acknowledged changes", i, r.Data, want)
		}
	}
	for i, turn := range w.turns {
		log, err := w.Session(w.t.Context(), turn.Session)
		w.must(err)
		if want := w.appended[i].Load() + w.began[i]; log.LastSeq != want {
			w.t.Errorf("a log ends at %d, want %d", log.LastSeq, want)
		}
	}
	if w.writes.Load() < writers || w.reads.Load() < readers {
		w.t.Errorf("%d writes and %d reads are too little traffic to prove anything", w.writes.Load(), w.reads.Load())
	}
}
