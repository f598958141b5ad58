// Package storetest is the contract of package store as tests. Every driver
// runs all of it.
package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	ledgerv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/ledger/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/id"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/store"
)

// Open makes an empty store for one test and closes it at the test's end.
type Open func(t *testing.T) store.Store

// Run runs the whole contract.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"resources", resources},
		{"lists", lists},
		{"idempotency", idempotency},
		{"boot state", bootState},
		{"look-ups", lookups},
		{"versions", versions},
		{"history of declared kinds", keptVersions},
		{"workflow events", workflowEvents},
		{"schedules", schedules},
		{"signals", signals},
		{"grants", grants},
		{"pending authorizations", pendingAuthorizations},
		{"leases", leases},
		{"sandboxes", sandboxes},
		{"sandboxes of processes that died", sandboxTakeovers},
		{"holders of sandboxes", sandboxHolders},
		{"races for a sandbox", sandboxRaces},
		{"budgets", budgets},
		{"spend", spends},
		{"admission", admissions},
		{"admission of many", admitsMany},
		{"thresholds", thresholds},
		{"own budgets of sessions", ownBudgets},
		{"goals", goals},
		{"budget stop", budgetStops},
		{"accept", accepts},
		{"claims", claims},
		{"fences", fences},
		{"tools", tools},
		{"settlement", settlements},
		{"cancel", cancels},
		{"log", logs},
		{"wake-ups", wakeUps},
		{"timers", timers},
		{"recoveries", recoveries},
		{"compactions", compactions},
		{"the end of a process", disowns},
		{"recovery of a wait", recoversWaits},
		{"recovery of a failure", recoversFailures},
		{"deletion", deletion},
		{"history", histories},
		{"usage", usages},
		{"retention", retention},
		{"usage of deleted sessions", usageOfDeleted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open)
		})
	}
}

const (
	agentKind     = resourcev1.ResourceKind_agent
	sessionKind   = resourcev1.ResourceKind_session
	executionKind = resourcev1.ResourceKind_agent_execution
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// row makes a row of a declared kind.
func row(slug string, data string) store.Row {
	return store.Row{
		Kind: agentKind, ID: id.New("agt"), Org: "default", Slug: slug, Name: slug, Visibility: "org", Version: 1,
		CreatedAt: epoch, UpdatedAt: epoch, Labels: map[string]string{}, Data: []byte(data),
	}
}

// fixture is a store with the log that its observer saw.
type fixture struct {
	t *testing.T
	store.Store
	mu   sync.Mutex
	seen []*eventv1.Event
}

func setup(t *testing.T, open Open) *fixture {
	t.Helper()
	f := &fixture{t: t, Store: open(t)}
	f.OnCommit(func(events []*eventv1.Event) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seen = append(f.seen, events...)
	})
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func message[M proto.Message](f *fixture, kind resource.Kind, id string, m M) M {
	f.t.Helper()
	r, err := f.Get(context.Background(), kind, id)
	f.must(err)
	f.must(proto.Unmarshal(r.Data, m))
	return m
}

func (f *fixture) status(execution string) *agentexecutionv1.AgentExecutionStatus {
	f.t.Helper()
	return message(f, executionKind, execution, &agentexecutionv1.AgentExecution{}).GetStatus()
}

func (f *fixture) phase(session string) sessionv1.SessionPhase {
	f.t.Helper()
	return message(f, sessionKind, session, &sessionv1.Session{}).GetStatus().GetPhase()
}

// newSession is a session that works in folder.
func newSession(folder string) *store.NewSession {
	session := id.New("ses")
	m := &sessionv1.Session{Metadata: &resourcev1.Metadata{Id: session, Org: "default"}, Spec: &sessionv1.SessionSpec{Agent: "a"}}
	return &store.NewSession{Row: rowOf(sessionKind, m, store.SessionIndex), Root: session, Workspace: folder}
}

func newExecution(session string) store.Row { return executionNamed(id.New("aex"), session) }

func executionNamed(execution, session string) store.Row {
	m := &agentexecutionv1.AgentExecution{
		Metadata: &resourcev1.Metadata{Id: execution, Org: "default"},
		Spec:     &agentexecutionv1.AgentExecutionSpec{SessionId: session, AgentId: "agt_1", Model: "fake/m"},
		Status:   &agentexecutionv1.AgentExecutionStatus{Phase: agentexecutionv1.ExecutionPhase_queued},
	}
	return rowOf(executionKind, m, store.ExecutionIndex)
}

func rowOf(k resource.Kind, m proto.Message, index []string) store.Row {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	md := resource.Metadata(m)
	return store.Row{Kind: k, ID: md.GetId(), Org: md.GetOrg(), Version: 1, CreatedAt: epoch, UpdatedAt: epoch, Index: store.IndexOf(m, index), Data: data}
}

// input makes an Accept for a new session, or for an existing one when n is nil.
func input(n *store.NewSession, session, text string) store.Accept {
	if n != nil {
		session = n.Row.ID
	}
	return store.Accept{
		New: n, Session: session, Execution: newExecution(session), Now: epoch,
		Input:  store.Input{ID: id.New("inp"), Item: user(text)},
		Events: []*eventv1.Event{event.New(epoch, &eventv1.InputQueued{Text: text}), event.New(epoch, &eventv1.TurnQueued{})},
	}
}

func user(text string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_User{User: &messagev1.UserMessage{Text: text}}}
}

// begin accepts an input in a new session and answers session and execution.
func (f *fixture) begin(text string) (session, execution string) {
	f.t.Helper()
	a := input(newSession(""), "", text)
	_, err := f.Accept(f.t.Context(), a)
	f.must(err)
	return a.Session, a.Execution.ID
}

// sessionOf makes a session with no folder and an input in it.
func claimOf(session, execution, gone string) store.Claim {
	return store.Claim{
		Session: session, Execution: execution, Attempt: id.New("att"), BootEpoch: "boot_1", Gone: gone, Now: epoch,
		Workflow: "w", Run: "r", Activity: "a", Policy: &ledgerv1.ExecutionPolicy{Model: "fake/m"},
		Events: func(how store.Taken) []*eventv1.Event {
			if how.First {
				return []*eventv1.Event{event.New(epoch, &eventv1.TurnStarted{})}
			}
			return []*eventv1.Event{event.New(epoch, &eventv1.TurnRecoveryRequested{LostGeneration: how.Lost, Reason: how.Reason})}
		},
	}
}

// claimed accepts and claims.
func (f *fixture) claimed(text string) store.Claimed {
	f.t.Helper()
	session, execution := f.begin(text)
	c, err := f.Claim(f.t.Context(), claimOf(session, execution, ""))
	f.must(err)
	return c
}

func (f *fixture) log(session string) []*eventv1.Event {
	f.t.Helper()
	all, err := f.Events(f.t.Context(), store.EventQuery{Session: session, Limit: 100000, MaxDepth: -1})
	f.must(err)
	for i, e := range all {
		if e.GetSeq() != int64(i)+1 || e.GetTreeSeq() != int64(i)+1 {
			f.t.Fatalf("event %d of %s has seq %d and tree_seq %d", i+1, session, e.GetSeq(), e.GetTreeSeq())
		}
	}
	return all
}

func (f *fixture) types(session string) []string {
	f.t.Helper()
	var out []string
	for _, e := range f.log(session) {
		out = append(out, e.GetType())
	}
	return out
}

// completed is a settlement that ends well.
func completed() store.Settlement {
	return store.Settlement{
		Phase: agentexecutionv1.ExecutionPhase_completed, Now: epoch,
		Events: func(sum store.Totals) []*eventv1.Event {
			return []*eventv1.Event{store.Completed("", sum, epoch)}
		},
	}
}

func delta(text string) []*eventv1.Event {
	return []*eventv1.Event{event.New(epoch, &eventv1.AgentMessageDelta{Text: text})}
}
