package relational

import (
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
	"github.com/cadre-dev/cadre/internal/event"
	"github.com/cadre-dev/cadre/internal/sqldb"
	"github.com/cadre-dev/cadre/internal/store"
)

// whose says under which budgets a model request falls.
type whose struct{ org, agent, session, execution, member string }

// account is a budget with what was settled under it in the period that since begins.
type account struct {
	store.Budget
	since        string // as it is kept; "" when nobody has counted
	tokens, nano int64
	told         int  // the highest threshold that was told in the period
	fresh        bool // it was counted in this transaction
}

// always is the beginning of a period that never ends.
const always = "always"

// accounts are the budgets that are kept for a model request, locked until the
// transaction ends.
func (t *txn) accounts(w whose) ([]*account, error) {
	var all []*account
	err := t.Rows(func(r sqldb.Scanner) error {
		a := &account{}
		var err error
		if a.Budget, err = scanBudget(r, &a.since, &a.tokens, &a.nano, &a.told); err != nil {
			return err
		}
		if a.Org == w.org {
			all = append(all, a)
		}
		return nil
	}, "SELECT "+budgetColumns+`, spent_since, spent_tokens, spent_nano_usd, told FROM budgets
		WHERE (scope = 'organization' AND scope_id = ?) OR (scope = 'agent' AND scope_id = ?) OR (scope = 'session' AND scope_id = ?)
		OR (scope = 'execution' AND scope_id = ?) OR (scope = 'member' AND scope_id = ?) ORDER BY scope, scope_id, period`+t.dialect.ForUpdate,
		w.org, w.agent, w.session, w.execution, w.member)
	return all, err
}

// count adds up anew what was settled under a budget, when its period is another one than
// that it was counted for.
func (t *txn) count(a *account, now time.Time) error {
	start := a.Period.Start(now)
	since := sqldb.Stamp(start)
	if start.IsZero() {
		since = always
	}
	if a.since == since {
		return nil
	}
	sum, err := spend(t, store.SpendQuery{Scope: a.Scope, ID: a.ID, Org: a.Org, Since: start})
	a.since, a.tokens, a.nano, a.told, a.fresh = since, sum.Tokens, sum.NanoUSD, 0, true
	return err
}

func (t *txn) saveAccount(a *account) error {
	return t.Exec("UPDATE budgets SET spent_since = ?, spent_tokens = ?, spent_nano_usd = ?, told = ? WHERE scope = ? AND scope_id = ? AND period = ?",
		a.since, a.tokens, a.nano, a.told, string(a.Scope), a.ID, string(a.Period))
}

// reserve refuses a model request for which a budget has no room. Its hold counts from the
// moment that its row is written, in this very transaction.
func (t *txn) reserve(w whose, d store.Dispatch) error {
	kept, err := t.accounts(w)
	if err != nil {
		return err
	}
	var found error
	for _, a := range kept {
		if err := t.count(a, d.Now); err != nil {
			return err
		}
		if a.fresh {
			if err := t.saveAccount(a); err != nil {
				return err
			}
		}
		if found, err = worse(found, t.room(a.Budget, store.Spend{Tokens: a.tokens, NanoUSD: a.nano}, w, d)); err != nil {
			return err
		}
	}
	for _, b := range d.Limits {
		sum, err := spend(t, store.SpendQuery{Scope: b.Scope, ID: b.ID, Org: w.org, Since: b.Period.Start(d.Now)})
		if err != nil {
			return err
		}
		if found, err = worse(found, t.room(b, store.Spend{Tokens: sum.Tokens, NanoUSD: sum.NanoUSD}, w, d)); err != nil {
			return err
		}
	}
	return found
}

// worse tells which of two refusals counts: one that stays before one that ends with
// the requests under way. What is no refusal ends the search.
func worse(found, next error) (refusal, other error) {
	var a, b *store.Exhausted
	if next != nil && !errors.As(next, &b) {
		return nil, next
	}
	if errors.As(found, &a) && (b == nil || !a.Held() || b.Held()) {
		return found, nil
	}
	return next, nil
}

// room says why a budget has none for a request.
func (t *txn) room(b store.Budget, used store.Spend, w whose, d store.Dispatch) error {
	if b.NanoUSD > 0 && b.Tokens == 0 && d.Hold.GetUnpricedCalls() > 0 {
		return store.Unpriced(d.Model, b.BudgetKey)
	}
	err := t.Row("SELECT CAST(COALESCE(sum(input_tokens + output_tokens), 0) AS BIGINT), CAST(COALESCE(sum(cost), 0) AS BIGINT) FROM dispatches WHERE state = 'dispatched' AND org = ? AND "+
		spendOf[b.Scope]+" = ?", w.org, b.ID).Scan(&used.HeldTokens, &used.HeldNanoUSD)
	if err != nil {
		return err
	}
	if refusal := b.Exhausts(used, d.Now); refusal != nil {
		return refusal
	}
	return nil
}

// charge adds what a request used, whose row is settled, to the budgets that it falls
// under, and tells of the thresholds that this reaches.
func (t *txn) charge(f store.Fence, w whose, u *messagev1.Usage, now time.Time) error {
	if u.GetInputTokens()+u.GetOutputTokens()+u.GetCostNanoUsd() == 0 {
		return nil
	}
	kept, err := t.accounts(w)
	if err != nil {
		return err
	}
	var events []*eventv1.Event
	for _, a := range kept {
		if err := t.count(a, now); err != nil {
			return err
		}
		if !a.fresh { // else the row was counted with the others
			a.tokens, a.nano = a.tokens+u.GetInputTokens()+u.GetOutputTokens(), a.nano+u.GetCostNanoUsd()
		}
		events = append(events, a.reached(now)...)
		if err := t.saveAccount(a); err != nil {
			return err
		}
	}
	return t.appendEvents(f, eventv1.Association_current, events)
}

// reached are the events of the thresholds that were reached and not told of yet.
func (a *account) reached(now time.Time) []*eventv1.Event {
	var events []*eventv1.Event
	for _, percent := range a.Thresholds {
		e := &eventv1.UsageThreshold{Scope: string(a.Scope), SubjectId: a.ID, Period: string(a.Period), Percent: int32(percent)}
		switch {
		case percent <= a.told:
			continue
		case share(a.tokens, a.Tokens, percent):
			e.Unit, e.Used, e.Bound = "tokens", a.tokens, a.Tokens
		case share(a.nano, a.NanoUSD, percent):
			e.Unit, e.Used, e.Bound = "nano_usd", a.nano, a.NanoUSD
		default:
			return events
		}
		if next := a.Period.Next(now); !next.IsZero() {
			e.ResetsAt = timestamppb.New(next)
		}
		a.told = percent
		events = append(events, event.New(now, e))
	}
	return events
}

// share says whether used is at least so many percent of a bound.
func share(used, bound int64, percent int) bool {
	return bound > 0 && float64(used)*100 >= float64(bound)*float64(percent)
}
