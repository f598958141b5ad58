package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// The server is killed in the middle of many writes, again and again. What was
// acknowledged is there once, and what was refused is not.
func TestAKilledServerLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	c := postgrestest.Start(t)
	s := openURL(t, c.URL(t))
	const writers, kills = 12, 4
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var written atomic.Int64
	acknowledged := make(chan struct{}, 1)
	logs := make([]*writerLog, writers)
	for i := range logs {
		logs[i] = &writerLog{claimed: storetest.Running(t, s)}
		all.Go(func() {
			logs[i].write(ctx, s, func() {
				written.Add(1)
				select {
				case acknowledged <- struct{}{}:
				default:
				}
			})
		})
	}
	for range kills {
		for range 200 {
			<-acknowledged
		}
		c.Kill(t)
		c.Restart(t)
	}
	stop()
	all.Wait()
	for _, l := range logs {
		l.judge(t, s)
	}
	t.Logf("%d writes over %d kills", written.Load(), kills)
}

// writerLog is what one writer knows of its writes.
type writerLog struct {
	claimed store.Claimed
	said    []string // acknowledged, in order
	refused map[string]bool
	unknown map[string]bool
}

func (l *writerLog) write(ctx context.Context, s store.Store, acknowledged func()) {
	l.refused, l.unknown = map[string]bool{}, map[string]bool{}
	for n := 0; ctx.Err() == nil; n++ {
		text := fmt.Sprint(n)
		err := s.Append(context.WithoutCancel(ctx), l.claimed.Fence, []*eventv1.Event{event.New(time.Unix(1, 0), &eventv1.AgentMessageDelta{Text: text})})
		switch {
		case err == nil:
			l.said = append(l.said, text)
			acknowledged()
		case fault.ReasonOf(err) == "STORE_OUTCOME_UNKNOWN":
			l.unknown[text] = true
		default:
			l.refused[text] = true
		}
	}
}

func (l *writerLog) judge(t *testing.T, s store.Store) {
	t.Helper()
	events, err := s.Events(t.Context(), store.EventQuery{Session: l.claimed.Session, Types: []string{"agent.message.delta"}, Limit: 1 << 20, MaxDepth: -1})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, e := range events {
		text := e.GetAgentMessageDelta().GetText()
		if l.refused[text] {
			t.Errorf("write %s was refused and is there", text)
		}
		if !l.unknown[text] {
			kept = append(kept, text)
		}
	}
	if len(l.refused) > 0 || len(l.unknown) > 0 {
		t.Logf("%d writes were refused, %d have an unknown outcome", len(l.refused), len(l.unknown))
	}
	if fmt.Sprint(kept) != fmt.Sprint(l.said) {
		t.Errorf("%d writes were acknowledged and %d are there", len(l.said), len(kept))
	}
}

// Two handles of one database are two servers: the one that claims first wins.
func TestOneOfTwoServersWins(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).URL(t)
	storetest.OneWins(t, openURL(t, address), openURL(t, address))
}

// A server hears of what another one commits, by hints or by looking.
func TestServersHearOfOneAnother(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).URL(t)
	a, b := openURL(t, address), openURL(t, address)
	running := storetest.Running(t, a)
	heard := make(chan store.Hint, 1000)
	b.OnHint(func(h store.Hint) { heard <- h }, func() []string { return []string{running.Session} })
	var last int64
	a.OnCommit(func(events []*eventv1.Event) { last = events[len(events)-1].GetSeq() })
	for range 50 {
		if err := a.Append(t.Context(), running.Fence, []*eventv1.Event{event.New(time.Unix(1, 0), &eventv1.AgentMessageDelta{Text: "x"})}); err != nil {
			t.Fatal(err)
		}
	}
	for {
		select {
		case h := <-heard:
			if h.Session != running.Session {
				t.Fatalf("heard of %v", h)
			}
			if h.Seq == last {
				return
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the newest event was not heard of")
		}
	}
}

// An engine is bound by the first living server; another one is refused by name until
// that server is gone.
func TestOneEngineForAllServers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	address := postgrestest.Shared(t).URL(t)
	a, b := openURL(t, address), openURL(t, address)
	for s, n := range map[*postgres.Store]store.Node{a: {ID: "nod_a", Boot: "boot_a", Host: "harbour"}, b: {ID: "nod_b", Boot: "boot_b", Host: "quay"}} {
		if err := s.Join(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	if before, err := a.BindEngine(ctx, "nod_a", "engine_1"); before != "" || err != nil {
		t.Fatalf("the first engine gave %q, %v", before, err)
	}
	_, err := b.BindEngine(ctx, "nod_b", "engine_2")
	if !errors.Is(err, store.ErrOtherEngine) {
		t.Fatalf("another engine gave %v", err)
	}
	for _, want := range []string{"engine_1", "engine_2", "nod_a", "harbour"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the refusal does not name %s: %v", want, err)
		}
	}
	if before, err := b.BindEngine(ctx, "nod_b", "engine_1"); before != "engine_1" || err != nil {
		t.Errorf("the same engine gave %q, %v", before, err)
	}
	others, _, err := a.Beat(ctx, "nod_a")
	if err != nil || len(others) != 1 || others[0].ID != "nod_b" || others[0].Engine != "engine_1" {
		t.Errorf("the others are %v, %v", others, err)
	}
	// One that was taken off while it lived is known again, and lost its engine.
	if err := b.Leave(ctx, "nod_a"); err != nil {
		t.Fatal(err)
	}
	if _, rejoined, err := a.Beat(ctx, "nod_a"); err != nil || !rejoined {
		t.Errorf("a server that was taken off gave %t, %v", rejoined, err)
	}
	if _, rejoined, err := a.Beat(ctx, "nod_a"); err != nil || rejoined {
		t.Errorf("a server that is known gave %t, %v", rejoined, err)
	}
	// Another process with its id is found by the one that was there first.
	if err := b.Join(ctx, store.Node{ID: "nod_a", Boot: "boot_copy", Host: "copy"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Beat(ctx, "nod_a"); !errors.Is(err, store.ErrNodeTaken) {
		t.Errorf("a server whose id another process has gave %v", err)
	}
	if err := errors.Join(a.Leave(ctx, "nod_a"), b.Join(ctx, store.Node{ID: "nod_b", Boot: "boot_c", Host: "quay"})); err != nil {
		t.Fatal(err)
	}
	if before, err := b.BindEngine(ctx, "nod_b", "engine_2"); before != "engine_1" || err != nil {
		t.Errorf("after all others left another engine gave %q, %v", before, err)
	}
}
