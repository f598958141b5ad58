// Package failure says what an error means for a turn: its code, whether the same turn
// may be tried again by itself and out of which budget, and what people are told.
//
// Classify is pure and total: it reads the error and nothing else, the first row of the
// table that matches wins, and it ends for any error, also one that wraps itself. The
// codes are part of the contract. It promises that no text of the other side gets into
// Message; what is kept of it stands, shortened, in Detail. It does not decide how often
// something is tried: the turn does that.
package failure

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	agentexecutionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/agentexecution/v1"
	"github.com/cadre-dev/cadre/internal/fault"
	"github.com/cadre-dev/cadre/internal/model"
)

// DetailLimit bounds, in bytes, what is kept of the other side's words.
const DetailLimit = 2048

// Failure is what an error means.
type Failure struct {
	Code      string
	Retryable bool             // the same request may succeed later, unchanged
	Message   string           // what happened, for people
	Advice    string           // what they can do; "" when the message says it
	Detail    string           // what the other side said, at most DetailLimit bytes and a mark of the cut
	Quota     model.QuotaScope // of a quota that is used up: which
	Budget    Budget
	Setup     bool          // it may be recovered from before the turn's set-up is over
	Wait      time.Duration // how long the other side asks to wait; 0 when it said nothing
	Until     time.Time     // of Capacity: when there is some again
}

// Budget says out of which budget a turn is tried again by itself.
type Budget int

// The budgets.
const (
	Never     Budget = iota // somebody has to do something first
	Ordinary                // the delays of the table, or longer where the other side asks for it
	RateLimit               // what the other side asks for, else the longest delay of the table
	Overload                // the delays of the table, more often and for a bounded time
	Capacity                // none: it is waited until the time that is known
)

// Classify says what err means; it must not be nil.
func Classify(err error) Failure {
	f := read(err).inTable()
	if e, ok := find[*Compacting](err); ok {
		return e.means(f)
	}
	return f
}

// inTable is what the first row that matches says.
func (s *seen) inTable() Failure {
	for _, r := range table {
		if r.match(s) {
			return r.failure(s)
		}
	}
	return Failure{Code: "internal", Message: "the turn failed inside Cadre; the server's log says more"}
}

// Proto is the failure as a turn's error. The advice and what the other side asks for are
// part of the message.
func (f Failure) Proto() *agentexecutionv1.ExecutionError {
	text := f.Message
	if f.Advice != "" {
		text += "; " + f.Advice
	}
	if wait := f.Wait.Round(time.Second); wait != 0 {
		text += fmt.Sprintf("; it asks to wait %s", wait)
	}
	return &agentexecutionv1.ExecutionError{
		Code: f.Code, Message: text, Retryable: f.Retryable, Detail: f.Detail, QuotaScope: string(f.Quota),
	}
}

// Exhausted is the failure of a turn that was tried again by itself as often as it may be:
// times says how often. It is no longer retryable by itself, and says how to go on.
func (f Failure) Exhausted(times int32) Failure {
	f.Retryable, f.Budget, f.Wait = false, Never, 0
	what := "was tried again by itself"
	if f.Setup {
		what = "was set up again by itself"
	}
	f.Advice = fmt.Sprintf("the turn %s %s without success. `cadre recover` tries it once more from where it is; a new message goes on without it", what, often(times))
	return f
}

func often(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Loggable is an error without a provider's own words, which may hold content.
func Loggable(err error) string {
	provider, ok := find[*model.Error](err)
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("%s, status %d, after the answer began: %t", provider.Category, provider.Status, provider.Started)
}

// ofFault is what a fault of Cadre itself means: its reason is the code.
func ofFault(f *fault.Fault) Failure {
	return Failure{Code: strings.ToLower(f.Reason), Message: f.Message, Retryable: f.Retryable}
}

// Bounded makes valid UTF-8 of at most DetailLimit bytes, cut between characters, and
// marks the cut.
func Bounded(s string) string {
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) <= DetailLimit {
		return s
	}
	cut := DetailLimit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
