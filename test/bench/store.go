package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// storeRate measures durable events per second at the store itself.
func (b *bench) storeRate(ctx context.Context) error {
	for _, c := range []struct {
		sessions int
		budget   float64
	}{{1, 5000}, {50, 15000}} {
		rate, err := b.appendRate(ctx, c.sessions)
		if err != nil {
			return err
		}
		b.add(fmt.Sprintf("durable events per second, %d session(s)", c.sessions), fmt.Sprintf("≥ %.0f", c.budget), fmt.Sprintf("%.0f", rate),
			rate >= c.budget, "appends of 10 deltas of 200 bytes, each append waits for the disk")
	}
	return nil
}

func (b *bench) appendRate(ctx context.Context, sessions int) (rate float64, err error) {
	dir := filepath.Join(b.work, fmt.Sprintf("store%d", sessions))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	s, err := sqlite.Open(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var fences []store.Fence
	for range sessions {
		f, err := claimed(ctx, s)
		if err != nil {
			return 0, err
		}
		fences = append(fences, f)
	}
	var count atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	end := began.Add(time.Duration(b.seconds) * time.Second / 2)
	errs := make(chan error, sessions)
	for _, f := range fences {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := s.Append(ctx, f, deltas(10)); err != nil {
					errs <- err
					return
				}
				count.Add(10)
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(count.Load()) / time.Since(began).Seconds(), nil
	}
}

func deltas(n int) []*eventv1.Event {
	text := fmt.Sprintf("%0200d", n)
	events := make([]*eventv1.Event, n)
	for i := range events {
		events[i] = event.New(time.Now(), &eventv1.AgentMessageDelta{Text: text})
	}
	return events
}

// claimed makes a session with a running turn.
func claimed(ctx context.Context, s store.Store) (store.Fence, error) {
	session, execution, now := id.New("ses"), id.New("aex"), time.Now()
	_, err := s.Accept(ctx, store.Accept{
		New:       &store.NewSession{Row: store.Row{Kind: resourcev1.ResourceKind_session, ID: session, CreatedAt: now, UpdatedAt: now, Data: []byte{}}, Root: session},
		Execution: store.Row{Kind: resourcev1.ResourceKind_agent_execution, ID: execution, CreatedAt: now, UpdatedAt: now, Data: []byte{}},
		Input:     store.Input{ID: id.New("inp"), Item: &messagev1.Item{}}, Now: now,
	})
	if err != nil {
		return store.Fence{}, err
	}
	c, err := s.Claim(ctx, store.Claim{
		Session: session, Execution: execution, Attempt: id.New("att"), Now: now, Policy: &ledgerv1.ExecutionPolicy{},
		Events: func(store.Taken) []*eventv1.Event { return nil },
	})
	return c.Fence, err
}
