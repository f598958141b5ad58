package relational

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	resourcev1 "github.com/cadre-dev/cadre/gen/go/cadre/platform/resource/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/resource"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

const (
	budgetColumns = "scope, scope_id, period, org, tokens, nano_usd, thresholds, updated_at"
	whichBudget   = " FROM budgets WHERE scope = ? AND scope_id = ? AND period = ?"
)

// PutBudget stores a budget.
func (s *Store) PutBudget(ctx context.Context, b store.Budget, once *store.Once) error {
	if err := b.Check(); err != nil {
		return err
	}
	return s.do(ctx, "put_budget", "", func(t *txn) error {
		if err := t.once(once); err != nil {
			return err
		}
		if err := t.putBudget(b); err != nil {
			return err
		}
		return t.keep(once)
	})
}

// putBudget stores a budget, of which nothing is counted yet.
func (t *txn) putBudget(b store.Budget) error {
	n, err := t.Affect("INSERT INTO budgets ("+budgetColumns+`) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (scope, scope_id, period) DO UPDATE SET
		tokens = excluded.tokens, nano_usd = excluded.nano_usd, thresholds = excluded.thresholds, updated_at = excluded.updated_at,
		spent_since = '', told = 0 WHERE budgets.org = excluded.org`,
		string(b.Scope), b.ID, string(b.Period), b.Org, b.Tokens, b.NanoUSD, joinThresholds(b.Thresholds), sqldb.Stamp(b.UpdatedAt))
	if err == nil && n == 0 {
		err = fault.New(fault.InvalidArgument, "BAD_BUDGET", "the budget of %s belongs to another organization", b.Name())
	}
	return err
}

// Budget reads one.
func (s *Store) Budget(ctx context.Context, k store.BudgetKey) (store.Budget, error) {
	b, err := scanBudget(s.db.Read(ctx).Row("SELECT "+budgetColumns+whichBudget, string(k.Scope), k.ID, string(k.Period)))
	if noRows(err) {
		return b, noBudget(k)
	}
	return b, err
}

func noBudget(k store.BudgetKey) error {
	return store.ErrNoBudget.Saying("there is no budget of %s", k.Name())
}

// ListBudgets answers an organization's budgets.
func (s *Store) ListBudgets(ctx context.Context, org string, after *store.BudgetKey, limit int) ([]store.Budget, error) {
	if limit <= 0 {
		return nil, badQuery("budgets with the limit %d", limit)
	}
	where, args := "org = ?", []any{org}
	if after != nil {
		where += " AND (scope, scope_id, period) > (?, ?, ?)"
		args = append(args, string(after.Scope), after.ID, string(after.Period))
	}
	var all []store.Budget
	err := s.db.Read(ctx).Rows(func(r sqldb.Scanner) error {
		b, err := scanBudget(r)
		all = append(all, b)
		return err
	}, "SELECT "+budgetColumns+" FROM budgets WHERE "+where+" ORDER BY scope, scope_id, period LIMIT ?", append(args, limit)...)
	return all, err
}

// DeleteBudget removes one.
func (s *Store) DeleteBudget(ctx context.Context, k store.BudgetKey, once *store.Once) error {
	return s.do(ctx, "delete_budget", "", func(t *txn) error {
		if err := t.once(once); err != nil {
			return err
		}
		n, err := t.Affect("DELETE"+whichBudget, string(k.Scope), k.ID, string(k.Period))
		if err == nil && n == 0 {
			err = noBudget(k)
		}
		if err != nil {
			return err
		}
		return t.keep(once)
	})
}

// deleteBudgetsOf removes the budgets of what is deleted: another organization may get
// its name.
func (t *txn) deleteBudgetsOf(kind resource.Kind, id string) error {
	switch kind {
	case resourcev1.ResourceKind_organization:
		return t.Exec("DELETE FROM budgets WHERE org = ?", id)
	case resourcev1.ResourceKind_agent:
		return t.Exec("DELETE FROM budgets WHERE scope = 'agent' AND scope_id = ?", id)
	}
	return nil
}

// scanBudget reads a budget, and with it the columns that follow.
func scanBudget(r sqldb.Scanner, more ...any) (store.Budget, error) {
	var b store.Budget
	var scope, period, thresholds, updated string
	if err := r.Scan(append([]any{&scope, &b.ID, &period, &b.Org, &b.Tokens, &b.NanoUSD, &thresholds, &updated}, more...)...); err != nil {
		return b, err
	}
	b.Scope, b.Period, b.UpdatedAt = store.BudgetScope(scope), store.BudgetPeriod(period), sqldb.Unstamp(updated)
	for _, word := range strings.Fields(thresholds) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return b, fault.From(fmt.Errorf("the thresholds of the budget %v: %w", b.BudgetKey, err))
		}
		b.Thresholds = append(b.Thresholds, n)
	}
	return b, nil
}

func joinThresholds(all []int) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, " ")
}

// spendOf are the columns that tell whose a model request is.
var spendOf = map[store.BudgetScope]string{
	store.ScopeExecution: "execution", store.ScopeSession: "session", store.ScopeAgent: "agent", store.ScopeOrganization: "org", store.ScopeMember: "member",
}

// Spend adds up a scope's model requests.
func (s *Store) Spend(ctx context.Context, q store.SpendQuery) (store.Spend, error) {
	return spend(s.db.Read(ctx), q)
}

func spend(db sqldb.Querier, q store.SpendQuery) (store.Spend, error) {
	var out store.Spend
	column, ok := spendOf[q.Scope]
	if !ok {
		return out, badQuery("spend of %q", q.Scope)
	}
	const settled, open = "CASE WHEN state <> 'dispatched' THEN ", "CASE WHEN state = 'dispatched' THEN "
	sum := func(which, what string) string {
		return "CAST(COALESCE(sum(" + which + what + " ELSE 0 END), 0) AS BIGINT)"
	}
	where, args := column+" = ? AND at >= ?", []any{q.ID, sqldb.Stamp(q.Since)}
	if q.Scope == store.ScopeMember {
		where += " AND member <> ''"
	}
	if q.Org != "" {
		where, args = where+" AND org = ?", append(args, q.Org)
	}
	err := db.Row("SELECT "+strings.Join([]string{
		sum(settled, "input_tokens + output_tokens"), sum(settled, "cost"), sum(open, "input_tokens + output_tokens"), sum(open, "cost"), sum(settled, "unpriced"),
	}, ", ")+" FROM dispatches WHERE "+where, args...).
		Scan(&out.Tokens, &out.NanoUSD, &out.HeldTokens, &out.HeldNanoUSD, &out.Unpriced)
	return out, err
}
