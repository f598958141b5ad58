package postgres_test

import (
	"testing"
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/postgres"
	"github.com/cadre-dev/cadre/internal/store/postgres/postgrestest"
	"github.com/cadre-dev/cadre/internal/store/storetest"
)

// Behind a pooler in transaction mode the whole contract holds.
func TestContractBehindAPooler(t *testing.T) {
	t.Parallel()
	c := postgrestest.Start(t)
	pooled := c.Pooler(t)
	storetest.Run(t, func(t *testing.T) store.Store { return openURL(t, pooled(c.URL(t))) })
}

// Behind a pooler nobody hears hints: with a direct address they come all the same, and
// without one each server looks by itself.
func TestHintsBehindAPooler(t *testing.T) {
	t.Parallel()
	c := postgrestest.Start(t)
	address := c.URL(t)
	pooled := c.Pooler(t)(address)
	writer := openURL(t, pooled)
	running := storetest.Running(t, writer)
	for name, direct := range map[string]string{"direct address": address, "polls": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, err := postgres.Open(t.Context(), postgres.Options{URL: pooled, Direct: direct})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = reader.Close() })
			heard := make(chan store.Hint, 1000)
			reader.OnHint(func(h store.Hint) { heard <- h }, func() []string { return []string{running.Session} })
			state, err := reader.Session(t.Context(), running.Session)
			if err != nil {
				t.Fatal(err)
			}
			if err := writer.Append(t.Context(), running.Fence, []*eventv1.Event{event.New(time.Unix(1, 0), &eventv1.AgentMessageDelta{Text: "x"})}); err != nil {
				t.Fatal(err)
			}
			for {
				select {
				case h := <-heard:
					if h.Session == running.Session && h.Seq > state.LastSeq {
						return
					}
				case <-time.After(20 * time.Second):
					t.Fatal("the event was not heard of")
				}
			}
		})
	}
}
