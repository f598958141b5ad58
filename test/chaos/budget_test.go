package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agent/v1"
	budgetv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/budget/v1"
	"github.com/cadre-dev/cadre/gen/go/cadre/agentic/budget/v1/budgetv1connect"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/test/built"
)

const (
	spenders     = 50     // turns under way at once
	spenderSteps = 8      // of each, at a hundred and fifty tokens
	allowed      = 20_000 // tokens of all of them: a third of what they would use
	mostOfOne    = 4_000  // more tokens than are held for any of their requests
)

// Fifty turns under one budget, and kills in their midst: all come to their end, and what
// they spent, with what was held for the requests that the kills lost, passes the bound
// by no more than one request.
func TestABudgetHoldsOverKills(t *testing.T) {
	t.Parallel()
	_, random := chance(t)
	server := built.Start(t, filepath.Join(t.TempDir(), "data"))
	budgets := func() budgetv1connect.BudgetServiceClient {
		return budgetv1connect.NewBudgetServiceClient(server.HTTP(), server.URL)
	}
	declareSpender(t, server)
	b := &budgetv1.Budget{Scope: budgetv1.BudgetScope_organization, Period: budgetv1.BudgetPeriod_month, MaxTokens: allowed, Thresholds: []int32{50}}
	if _, err := budgets().Set(t.Context(), connect.NewRequest(&budgetv1.SetBudgetRequest{Budget: b})); err != nil {
		t.Fatal(err)
	}
	sessions := make([]string, spenders)
	for i := range sessions {
		res, err := server.Sessions().RunAgent(t.Context(), connect.NewRequest(&sessionv1.RunAgentRequest{Agent: "spender", Message: "Spend."}))
		if err != nil {
			t.Fatal(err)
		}
		sessions[i] = res.Msg.GetSession().GetMetadata().GetId()
	}
	for i := range 2 {
		<-time.NewTimer(300*time.Millisecond + time.Duration(random.Int64N(int64(longestLife)))).C
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		server.Env = dispatch(i)
		server.Start(t)
	}
	cut, told := 0, 0
	for _, session := range sessions {
		for _, e := range server.AwaitType(t, session, "turn.completed", 1) {
			if e.GetTurnCompleted().GetSegmentLimit() == "budget_exhausted" {
				cut++
			}
			if e.GetUsageThreshold() != nil {
				told++
			}
		}
	}
	got, err := budgets().Get(t.Context(), connect.NewRequest(&budgetv1.GetBudgetRequest{Scope: b.GetScope(), Period: b.GetPeriod()}))
	if err != nil {
		t.Fatal(err)
	}
	spent := got.Msg.GetSpend()
	t.Logf("%d turns were cut short, %d of %d tokens are spent", cut, spent.GetTokens(), allowed)
	if spent.GetTokens() < allowed || spent.GetTokens() > allowed+mostOfOne || spent.GetHeldTokens() != 0 {
		t.Errorf("in the end %v is spent of %d tokens", spent, allowed)
	}
	if cut == 0 || told != 1 {
		t.Errorf("%d turns were cut short, and the threshold was told %d times", cut, told)
	}
}

// declareSpender makes an agent whose answers are short, so that little is held for them.
func declareSpender(t *testing.T, server *built.Server) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "spend.yaml")
	step := "  - {delay: 150ms, tools: [{name: todo, args: {items: []}}], usage: {input: 100, output: 50}}\n"
	if err := os.WriteFile(script, []byte("steps:\n"+strings.Repeat(step, spenderSteps)+"  - {text: Spent.}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := server.Agents().Apply(t.Context(), connect.NewRequest(&agentv1.ApplyAgentRequest{Agent: &agentv1.Agent{
		ApiVersion: "agentic.cadre.dev/v1", Kind: "Agent", Metadata: &resourcev1.Metadata{Slug: "spender"},
		Spec: &agentv1.AgentSpec{Instructions: "Work step by step.", Model: "scripted:" + script, Tools: []string{"todo"}, Limits: &agentv1.AgentLimits{MaxOutputTokens: 60}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
}
