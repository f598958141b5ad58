package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// released opens a copy of a database that the release with this schema wrote:
// an agent, a turn that completed, one that was running when its server was
// killed, and an input behind it.
func released(t *testing.T, file string) store.Store {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sqlite.FileName), data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Reliability line 15: a database of each released schema works, and its turn in
// flight goes on.
func TestReleasedSchemasOpenAndLoseNoTurn(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"v1.db", "v2.db"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			s := released(t, file)
			goesOn(t, s)
		})
	}
}

func goesOn(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	rows, err := s.List(ctx, store.Query{Kind: resourcev1.ResourceKind_agent, Org: "default", Limit: 10})
	if err != nil || len(rows.Rows) != 1 {
		t.Fatalf("the agents are %v, %v", rows, err)
	}
	a := &agentv1.Agent{}
	if err := proto.Unmarshal(rows.Rows[0].Data, a); err != nil || a.GetMetadata().GetSlug() != "writer" || a.GetMetadata().GetLabels()["team"] != "docs" {
		t.Errorf("the agent is %v, %v", a, err)
	}
	live, err := s.LiveAttempts(ctx)
	if err != nil || len(live) != 1 {
		t.Fatalf("the attempts in flight are %v, %v", live, err)
	}
	before, err := s.Session(ctx, live[0].Session)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c, err := s.Claim(ctx, store.Claim{
		Session: live[0].Session, Execution: live[0].Execution, Attempt: "att_next", BootEpoch: "boot_next", Gone: live[0].Attempt, Now: now,
		Events: func(store.Taken) []*eventv1.Event {
			return []*eventv1.Event{event.New(now, &eventv1.TurnRecoveryRequested{})}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.History) != 5 || c.Generation != 2 || c.Policy.GetModel() == "" || len(c.Policy.GetTools()) != 3 {
		t.Errorf("the turn goes on with %d items, generation %d, policy %v", len(c.History), c.Generation, c.Policy)
	}
	log, err := s.Events(ctx, store.EventQuery{Session: c.Session, Limit: 1000, MaxDepth: -1})
	if err != nil || int64(len(log)) != before.LastSeq+1 {
		t.Errorf("the log has %d events after %d (%v)", len(log), before.LastSeq, err)
	}
	for i, e := range log {
		if e.GetSeq() != int64(i)+1 || e.GetType() == "" {
			t.Fatalf("event %d is %v", i+1, e)
		}
	}
	if before.Open != 2 {
		t.Errorf("%d turns are open, want the one in flight and the one behind it", before.Open)
	}
}
