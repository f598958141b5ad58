package store

import (
	"context"
	"math"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// BudgetScope is what a budget bounds.
type BudgetScope string

// The scopes.
const (
	ScopeExecution    BudgetScope = "execution"
	ScopeSession      BudgetScope = "session"
	ScopeAgent        BudgetScope = "agent"
	ScopeOrganization BudgetScope = "organization"
	ScopeMember       BudgetScope = "member" // of an organization
)

// BudgetPeriod is how often a budget begins anew, in UTC.
type BudgetPeriod string

// The periods.
const (
	PeriodNone  BudgetPeriod = "" // never
	PeriodDay   BudgetPeriod = "day"
	PeriodWeek  BudgetPeriod = "week" // from Monday
	PeriodMonth BudgetPeriod = "month"
)

// DefaultThresholds are those of a budget that names none.
var DefaultThresholds = []int{80, 100}

// NanoUSD is an amount of US dollars in billionths. What is above 0 stays above 0.
func NanoUSD(usd float64) int64 { return int64(math.Ceil(usd*1e9 - 1e-6)) }

// BudgetKey names a budget: each scope has at most one per period.
type BudgetKey struct {
	Scope  BudgetScope
	ID     string // of what is bounded: the organization's slug, or an id
	Period BudgetPeriod
}

// Budget is a bound on what model requests may use. It begins anew with each period.
type Budget struct {
	BudgetKey
	Org        string // that it belongs to
	Tokens     int64  // input and output together; 0 for no bound
	NanoUSD    int64  // 0 for no bound
	Thresholds []int  // percentages of a bound at which somebody is told, rising
	UpdatedAt  time.Time
}

// SpendQuery asks what a scope's model requests used.
type SpendQuery struct {
	Scope BudgetScope
	ID    string
	Since time.Time // from this moment on; zero for all
	Org   string    // only of this organization, where a member has several; "" for all
}

// Spend is what was used and what open requests hold.
type Spend struct {
	Tokens, NanoUSD         int64 // settled, also at the hold of requests whose answer nobody saw
	HeldTokens, HeldNanoUSD int64 // of requests that are under way, at their upper bound
	Unpriced                int64 // settled requests whose price is not known: they count no money
}

// Budgets keeps budgets and tells what was spent. Dispatch enforces them, and Respond
// and Settle tell when a threshold is reached, once in each period.
type Budgets interface {
	// PutBudget stores a budget, replacing the one with its key. BAD_BUDGET for an unknown
	// scope or period, bounds below 0, thresholds that do not rise within 1 to 100, or a
	// key that another organization has. What was used before it counts too, and its
	// thresholds are told anew.
	PutBudget(ctx context.Context, b Budget, once *Once) error
	// Budget reads one. ErrNoBudget.
	Budget(ctx context.Context, k BudgetKey) (Budget, error)
	// ListBudgets answers the budgets of an organization, ordered by scope, id and
	// period. limit must be positive; after is the last key of the part before, nil for the first.
	ListBudgets(ctx context.Context, org string, after *BudgetKey, limit int) ([]Budget, error)
	// DeleteBudget removes one. ErrNoBudget.
	DeleteBudget(ctx context.Context, k BudgetKey, once *Once) error
	// Spend adds up a scope's model requests, also those of deleted sessions.
	Spend(ctx context.Context, q SpendQuery) (Spend, error)
}

// ErrNoBudget: there is none with this key.
var ErrNoBudget = fault.New(fault.NotFound, "NO_BUDGET", "there is no such budget")

// Allowance tells whether the budget is an allowance: what an organization or a member
// may use in each period.
func (b Budget) Allowance() bool {
	return b.Period != PeriodNone && (b.Scope == ScopeOrganization || b.Scope == ScopeMember)
}

// Check says what is wrong with a budget.
func (b Budget) Check() error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.InvalidArgument, "BAD_BUDGET", format, args...)
	}
	switch b.Scope {
	case ScopeExecution, ScopeSession, ScopeAgent, ScopeOrganization, ScopeMember:
	default:
		return bad("a budget cannot bound a %q: name execution, session, agent, organization or member", b.Scope)
	}
	switch b.Period {
	case PeriodNone, PeriodDay, PeriodWeek, PeriodMonth:
	default:
		return bad("a budget cannot begin anew each %q: name day, week or month, or leave it out", b.Period)
	}
	if b.ID == "" || b.Tokens < 0 || b.NanoUSD < 0 {
		return bad("a budget names what it bounds, and its bounds are not below 0")
	}
	last := 0
	for _, t := range b.Thresholds {
		if t <= last || t > 100 {
			return bad("the thresholds %v do not rise from 1 to 100: write percentages in their order", b.Thresholds)
		}
		last = t
	}
	return nil
}
