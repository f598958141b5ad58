package store

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	"github.com/cadre-dev/cadre/internal/fault"
)

// Exhausted is the error of a Dispatch for which a budget has no room. Nothing was
// written.
type Exhausted struct {
	Budget   Budget
	Spend    Spend     // since the budget's period began
	ResetsAt time.Time // when the next one begins; zero when none does
}

// Held tells whether there is no room only as long as other requests are under way: what
// they use in the end may be less than what is held for them.
func (e *Exhausted) Held() bool {
	return !full(e.Budget.Tokens, e.Spend.Tokens) && !full(e.Budget.NanoUSD, e.Spend.NanoUSD)
}

func full(bound, used int64) bool { return bound > 0 && used >= bound }

// Exhausts answers the error that a budget gives for what was spent under it; nil when it
// has room.
func (b Budget) Exhausts(s Spend, now time.Time) *Exhausted {
	if full(b.Tokens, s.Tokens+s.HeldTokens) || full(b.NanoUSD, s.NanoUSD+s.HeldNanoUSD) {
		return &Exhausted{Budget: b, Spend: s, ResetsAt: b.Period.Next(now)}
	}
	return nil
}

// Error says which budget it is, what was used, and what to do.
func (e *Exhausted) Error() string {
	bound, used := Tokens(e.Budget.Tokens), Tokens(e.Spend.Tokens)
	if e.Budget.Tokens == 0 || !full(e.Budget.Tokens, e.Spend.Tokens) && full(e.Budget.NanoUSD, e.Spend.NanoUSD) {
		bound, used = Dollars(e.Budget.NanoUSD), Dollars(e.Spend.NanoUSD)
	}
	text := fmt.Sprintf("the budget of %s is used up: %s of %s", e.Budget.Name(), used, bound)
	if e.ResetsAt.IsZero() {
		return text + "; raise it, and send the message again"
	}
	return fmt.Sprintf("%s; it begins anew at %s, or raise it", text, e.ResetsAt.Format(time.RFC3339))
}

// Name says which budget it is, for people.
func (k BudgetKey) Name() string {
	name := string(k.Scope) + " " + k.ID
	if k.Period != PeriodNone {
		name += " per " + string(k.Period)
	}
	return name
}

// Tokens writes a number of tokens for people.
func Tokens(n int64) string { return strconv.FormatInt(n, 10) + " tokens" }

// Dollars writes billionths of a dollar for people, without rounding.
func Dollars(nano int64) string {
	s := strconv.FormatFloat(float64(nano)/1e9, 'f', -1, 64)
	return "$" + s
}

// Allowance is what events tell of an allowance that is used up; nil when the budget is
// none.
func (e *Exhausted) Allowance() *eventv1.Allowance {
	if !e.Budget.Allowance() {
		return nil
	}
	return &eventv1.Allowance{
		Code: "allowance_exhausted", Scope: string(e.Budget.Scope), SubjectId: e.Budget.ID, Period: string(e.Budget.Period),
		ResetsAt: timestamp(e.ResetsAt), Message: e.Error(),
	}
}

// CutShort is the event of a turn that ended since a budget had no room.
func CutShort(e *Exhausted, totals Totals, now time.Time) *eventv1.Event {
	out := Completed(BudgetExhausted, totals, now)
	out.GetTurnCompleted().Detail, out.GetTurnCompleted().Allowance = e.Error(), e.Allowance()
	return out
}

// BudgetExhausted is the segment limit of a turn that ended since a budget had no room.
const BudgetExhausted = "budget_exhausted"

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// ErrUnpriced: a budget bounds money alone, and the model's price is not known.
var ErrUnpriced = fault.New(fault.FailedPrecondition, "MODEL_UNPRICED", "the model's price is not known, and a budget bounds its cost")

// Unpriced is the fault for a model without a known price under a budget that bounds money
// alone.
func Unpriced(model string, k BudgetKey) *fault.Fault {
	return ErrUnpriced.Saying("the price of %s is not known, and the budget of %s bounds money alone: tell the price in the server's models.json, or bound its tokens too", model, k.Name()).
		With("model", model).With("scope", string(k.Scope)).With("subject", k.ID)
}
