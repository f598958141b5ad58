package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/cadre-dev/cadre/internal/store"
)

// verb is one operation of a ledger's history.
type verb string

const (
	doAccept  verb = "accept"
	doPeek    verb = "peek"
	doClaim   verb = "claim"
	doAppend  verb = "append"
	doRelease verb = "release"
	doSettle  verb = "settle"
	doRead    verb = "read"
)

// asked is an operation's input.
type asked struct {
	verb  verb
	fence store.Fence // who writes; of an accept and a claim only Execution and Attempt
	gone  string      // of a claim: the attempt that is said to be gone
	mark  string      // the text of the event that the operation leaves
}

// told is an operation's output.
type told struct {
	outcome string      // ok, fenced, owned or no work
	fence   store.Fence // of a peek and a claim
	first   bool        // of a claim
	log     string      // of a read: marks with their association, in order
	// place is where the operation stands among its kind: the number of its event, or
	// the revision that an accept gave. It is all that the order is known by, and
	// keeps the search for one short.
	place int64
}

// The outcomes.
const (
	isOK     = "ok"
	isFenced = "fenced"
	isOwned  = "owned"
	isNoWork = "no work"
)

// ledger is the state of one session in the model: what a store must behave as,
// whatever it does inside. It is comparable.
type ledger struct {
	queue string // open executions, the head first, each followed by a blank
	// Of the head: generation 0 means that nobody claimed it yet. The fence that
	// (generation, attempt) make is current while live: until the next claim, the
	// settlement, or its owner's release.
	generation int64
	attempt    string
	live       bool
	log        string
	// The newest event and the newest accept.
	seq, revision int64
}

func (l ledger) head() string {
	head, _, _ := strings.Cut(l.queue, " ")
	return head
}

func (l ledger) current(f store.Fence) bool {
	return l.live && f.Execution == l.head() && f.Attempt == l.attempt && f.Generation == l.generation
}

// with is the log's entry for a mark; late says that its writer was fenced.
func (l ledger) with(mark string, late bool) ledger {
	l.log += mark + map[bool]string{false: "+ ", true: "- "}[late]
	return l
}

// follows says whether an operation's place is behind all that came before.
func (l ledger) follows(a asked, place int64) bool {
	switch {
	case a.verb == doAccept:
		return place > l.revision
	case a.mark != "" && place != 0:
		return place > l.seq
	}
	return true
}

func (l ledger) at(a asked, place int64) ledger {
	switch {
	case a.verb == doAccept:
		l.revision = place
	case place != 0:
		l.seq = place
	}
	return l
}

// step says what an operation must be told in a state, and the state after it.
func (l ledger) step(a asked) (told, ledger) {
	switch a.verb {
	case doAccept:
		l.queue += a.fence.Execution + " "
		return told{outcome: isOK}, l
	case doPeek:
		return l.peek(), l
	case doClaim:
		return l.claim(a)
	case doRead:
		return told{outcome: isOK, log: l.log}, l
	}
	late := !l.current(a.fence)
	if a.mark != "" {
		l = l.with(a.mark, late)
	}
	switch {
	case late:
		return told{outcome: isFenced}, l
	case a.verb == doRelease:
		l.live = false
	case a.verb == doSettle:
		_, rest, _ := strings.Cut(l.queue, " ")
		l.queue, l.generation, l.attempt, l.live = rest, 0, "", false
	}
	return told{outcome: isOK}, l
}

func (l ledger) peek() told {
	out := told{outcome: isOK, fence: store.Fence{Execution: l.head()}}
	if l.live {
		out.fence.Attempt, out.fence.Generation = l.attempt, l.generation
	}
	return out
}

func (l ledger) claim(a asked) (told, ledger) {
	switch {
	case a.fence.Execution != l.head():
		return told{outcome: isNoWork}, l
	case l.live && a.gone != l.attempt:
		return told{outcome: isOwned}, l
	}
	first := l.generation == 0
	l.generation, l.attempt, l.live = l.generation+1, a.fence.Attempt, true
	won := store.Fence{Execution: a.fence.Execution, Attempt: l.attempt, Generation: l.generation}
	return told{outcome: isOK, fence: won, first: first}, l.with(a.mark, false)
}

// sequential is the model in the checker's form.
var sequential = porcupine.Model{
	Init: func() any { return ledger{} },
	Step: func(state, input, output any) (bool, any) {
		a, out := input.(asked), output.(told)
		want, next := state.(ledger).step(a)
		want.place = out.place
		return want == out && next.follows(a, out.place), next.at(a, out.place)
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v -> %v", input, output) },
}

// String is one line for people.
func (a asked) String() string {
	return fmt.Sprintf("%s %s %s #%d gone=%q mark=%q", a.verb, a.fence.Execution, a.fence.Attempt, a.fence.Generation, a.gone, a.mark)
}

// String is one line for people.
func (o told) String() string {
	return fmt.Sprintf("%s %s %s #%d first=%t log=%q at %d", o.outcome, o.fence.Execution, o.fence.Attempt, o.fence.Generation, o.first, o.log, o.place)
}

// describe shows how far a history can be put in order, and what does not fit.
func describe(history []porcupine.Operation, why porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, partition := range why.PartialLinearizationsOperations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	var s strings.Builder
	state := ledger{}
	placed := map[int64]bool{} // by the time of their call, which is their own
	for _, o := range longest {
		placed[o.Call] = true
		_, next := sequential.Step(state, o.Input, o.Output)
		state = next.(ledger)
		fmt.Fprintf(&s, "%s\n", line(o))
	}
	fmt.Fprintf(&s, "after these the ledger is %+v; none of the next ones fits:\n", state)
	rest := slices.Clone(history)
	rest = slices.DeleteFunc(rest, func(o porcupine.Operation) bool { return placed[o.Call] })
	slices.SortFunc(rest, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, o := range rest[:min(len(rest), many.clients)] {
		fmt.Fprintf(&s, "%s\n", line(o))
	}
	return s.String()
}

func line(o porcupine.Operation) string {
	return fmt.Sprintf("%3d..%3d  client %d  %s", o.Call, o.Return, o.ClientId, sequential.DescribeOperation(o.Input, o.Output))
}
