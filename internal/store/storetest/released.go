package storetest

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/store"
)

// The names in a release's fixture.
const (
	releasedAgent = "agt_01kbdd6qg0000000000000000a"
	releasedGrant = "ida_1"
)

// WriteRelease fills an empty store with something of everything that a release keeps:
// an agent with two versions, a turn that completed, one in flight and an input behind
// it, and rows of each ledger. It is what drivers freeze as the fixture of their schema.
func WriteRelease(t *testing.T, empty store.Store) {
	t.Helper()
	s := &fixture{t: t, Store: empty}
	ctx := t.Context()
	agent := agentRow(t, "default", "writer", &agentv1.Agent{
		Metadata: &resourcev1.Metadata{Labels: map[string]string{"team": "docs"}}, Spec: &agentv1.AgentSpec{Instructions: "Write.", Model: "fake/m"},
	})
	agent.ID = releasedAgent
	s.must(s.Create(ctx, agent, nil))
	s.must(second(s.Update(ctx, agentKind, agent.ID, nil, func(r store.Row) (store.Row, error) {
		r.Version, r.Labels = 2, agent.Labels
		return r, nil
	})))
	s.must(s.TagVersion(ctx, agentKind, agent.ID, store.VersionHash(agent.Data), "stable"))
	s.releaseTurns()
	s.must(second(s.AppendWorkflowEvents(ctx, []store.WorkflowEvent{workflowEvent("wex_1", 1), workflowEvent("wex_1", 2)})))
	s.upserts(scheduleRun("sch_1", 1, store.RunCompleted), true)
	s.upserts(scheduleRun("sch_1", 2, store.RunStarted), true)
	s.claims("k", "c1", epoch, true)
	s.must(second(s.DeliverSignal(ctx, "default", "k", "c1", "aex_1", epoch)))
	s.must(s.PutGrant(ctx, store.Grant{GrantKey: store.GrantKey{Identity: releasedGrant, Resource: "mcp_1", Org: "default"}, Sealed: []byte("sealed"), UpdatedAt: epoch}))
	s.must(s.PutPendingAuthorization(ctx, "state", []byte("verifier"), epoch))
	s.must(s.PutBudget(ctx, store.Budget{BudgetKey: store.BudgetKey{Scope: store.ScopeOrganization, ID: "default", Period: store.PeriodMonth}, Org: "default", Tokens: 7, Thresholds: []int{80}, UpdatedAt: epoch}, nil))
	s.must(second(s.AcquireLease(ctx, "sweep", "a", time.Minute, epoch)))
	for key, value := range legacy {
		s.must(s.SetBootState(ctx, key, value))
	}
}

// releaseTurns leaves one turn completed, one in flight and an input behind it.
func (f *fixture) releaseTurns() {
	f.t.Helper()
	ctx := f.t.Context()
	one := f.claimed("one")
	f.ask(one, 1)
	f.must(f.Settle(ctx, one.Fence, completed()))
	two := input(nil, one.Session, "two")
	f.must(second(f.Accept(ctx, two)))
	claim := claimOf(one.Session, two.Execution.ID, "")
	claim.Policy = &ledgerv1.ExecutionPolicy{Model: "fake/m", Tools: []string{"read", "edit", "shell"}}
	running, err := f.Claim(ctx, claim)
	f.must(err)
	f.ask(running, 1, "c1")
	f.must(f.StartTools(ctx, running.Fence, []store.ToolStart{{CallID: "c1", Class: "pure", Event: event.New(epoch, &eventv1.AgentToolStarted{CallId: "c1"})}}))
	f.must(f.FinishTools(ctx, running.Fence, []store.ToolFinish{{CallID: "c1", Item: result("c1"), Event: event.New(epoch, &eventv1.AgentToolCompleted{CallId: "c1"})}}))
	f.must(second(f.Accept(ctx, input(nil, one.Session, "three"))))
}

// ReadRelease opens what a release wrote: its agent is there, and its turn in flight
// goes on. ledgers says whether the release knew all that WriteRelease writes. C115
func ReadRelease(t *testing.T, s store.Store, ledgers bool) {
	t.Helper()
	f := &fixture{t: t, Store: s}
	rows, err := s.List(t.Context(), store.Query{Kind: agentKind, Org: "default", Limit: 10})
	if err != nil || len(rows.Rows) != 1 {
		t.Fatalf("the agents are %v, %v", rows, err)
	}
	a := &agentv1.Agent{}
	if err := proto.Unmarshal(rows.Rows[0].Data, a); err != nil || a.GetMetadata().GetSlug() != "writer" || a.GetMetadata().GetLabels()["team"] != "docs" {
		t.Errorf("the agent is %v, %v", a, err)
	}
	if found, err := s.FindByLabel(t.Context(), agentKind, "team", "docs", store.Span{Limit: 10}); err != nil || len(found) != 1 {
		t.Errorf("%d agents have the label (%v)", len(found), err)
	}
	if ledgers {
		f.releasedLedgers(rows.Rows[0])
	}
	f.goesOn()
}

func (f *fixture) goesOn() {
	t, ctx := f.t, f.t.Context()
	t.Helper()
	live, err := f.LiveAttempts(ctx)
	if err != nil || len(live) != 1 {
		t.Fatalf("the attempts in flight are %v, %v", live, err)
	}
	before, err := f.Session(ctx, live[0].Session)
	f.must(err)
	claim := claimOf(live[0].Session, live[0].Execution, live[0].Attempt)
	c, err := f.Claim(ctx, claim)
	f.must(err)
	if len(c.History) != 5 || c.Generation != 2 || c.Policy.GetModel() == "" || len(c.Policy.GetTools()) != 3 {
		t.Errorf("the turn goes on with %d items, generation %d, policy %v", len(c.History), c.Generation, c.Policy)
	}
	if log := f.log(c.Session); int64(len(log)) != before.LastSeq+1 || slices.ContainsFunc(log, func(e *eventv1.Event) bool { return e.GetType() == "" }) {
		t.Errorf("the log has %d events after %d, or one without a type", len(log), before.LastSeq)
	}
	if before.Open != 2 {
		t.Errorf("%d turns are open, want the one in flight and the one behind it", before.Open)
	}
}

// releasedLedgers checks what WriteRelease wrote beside turns.
func (f *fixture) releasedLedgers(agent store.Row) {
	t, ctx := f.t, f.t.Context()
	t.Helper()
	if !bytes.HasSuffix(agent.Data, unknown) || agent.ID != releasedAgent || agent.Version != 2 {
		t.Errorf("the agent's row is %+v", agent)
	}
	f.numbers(releasedAgent, 0, 10, 2, 1)
	if v, err := f.VersionByTag(ctx, agentKind, releasedAgent, "stable"); err != nil || !bytes.Equal(v.Data, agent.Data) {
		t.Errorf("the tagged version is %+v, %v", v, err)
	}
	f.reads(store.WorkflowEventQuery{Execution: "wex_1"}, 2, 1)
	f.runs("sch_1", 10, "run2", "run1")
	f.upserts(scheduleRun("sch_1", 1, store.RunFailed), false)
	if s := f.claims("k", "c2", epoch.Add(time.Hour), false); s.Answer != "aex_1" {
		t.Errorf("the signal is %+v", s)
	}
	if g, err := f.Grant(ctx, store.GrantKey{Identity: releasedGrant, Resource: "mcp_1", Org: "default"}); err != nil || string(g.Sealed) != "sealed" {
		t.Errorf("the grant is %+v, %v", g, err)
	}
	if sealed, err := f.TakePendingAuthorization(ctx, "state", epoch); err != nil || string(sealed) != "verifier" {
		t.Errorf("the pending authorization is %q, %v", sealed, err)
	}
	if b, err := f.Budget(ctx, store.BudgetKey{Scope: store.ScopeOrganization, ID: "default", Period: store.PeriodMonth}); err != nil || b.Tokens != 7 {
		t.Errorf("the budget is %+v, %v", b, err)
	}
	if l, err := f.AcquireLease(ctx, "sweep", "b", time.Minute, epoch.Add(time.Hour)); err != nil || l.Epoch != 2 {
		t.Errorf("the lease is %+v, %v", l, err)
	}
	for key, want := range legacy { // C114
		if v, err := f.BootState(ctx, key); v != want || err != nil {
			t.Errorf("the key %s is %q, %v", key, v, err)
		}
	}
}
