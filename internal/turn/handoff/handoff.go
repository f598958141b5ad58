// Package handoff decides when a turn that ended without a word is asked once more for its
// reply, and with what words.
//
// A model may work for an hour, call tools, and end with an empty answer: people see
// nothing of it. The turn then hands its result over inside itself: one item of the
// developer goes into the history, and the model is asked again. Nothing that was done is
// done again. The package is pure: it reads what it is given. That an execution is asked
// at most once is the ledger's promise, not this package's.
package handoff

import (
	"strings"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// Ending is how a turn's last answer left it.
type Ending struct {
	Reply         *string // the answer's text; nil where the turn ended without an answer of text
	Tools         bool    // a tool ran in this execution
	GoalCompleted bool    // the session's goal was completed in it
	Waiting       bool    // it waits for a person or for a time
	Interrupted   bool    // something cut it short: a limit, or somebody
	Maintenance   bool    // it is work of the platform, such as a compaction, that owes nobody a reply
}

// Blank tells whether there is an answer, and no word in it.
func (e Ending) Blank() bool { return e.Reply != nil && strings.TrimSpace(*e.Reply) == "" }

// Needed tells whether people are owed a reply that the model has not given: the answer is
// blank, something was done that they do not see, and the turn is really at its end.
func (e Ending) Needed() bool {
	return e.Blank() && (e.Tools || e.GoalCompleted) && !e.Waiting && !e.Interrupted && !e.Maintenance
}

// marker opens the item, and names the execution that it belongs to.
const marker = "[final reply owed, execution "

// words are what the model is told behind the marker.
const words = `]
Your last answer was empty, and the person sees nothing of this turn but your answers. Give them now what they asked for; where it is long or kept elsewhere, say in short what came of it and name the artifact or the path where it lies.
What you noted as proof for a goal, and completing the goal, reached nobody: it is no answer.
All that you need stands above. Do not call again what has completed, and do not begin the task anew.
When a result of a child session arrived late, even after the goal was completed, take in what is new and matters, and deliver what is still owed. The goal stays as it is.
Say only what the history shows. Where something failed or is not known, say that.`

// Text is what the item of an execution says, to the letter: it is recognised by it.
func Text(execution string) string { return marker + execution + words }

// Item is the one that asks for the reply of an execution.
func Item(execution string) *messagev1.Item {
	return &messagev1.Item{Item: &messagev1.Item_Developer{Developer: &messagev1.DeveloperMessage{Text: Text(execution)}}}
}

// Asked tells whether a history has the item of this very execution. The same words of
// anybody but the developer, or of another execution, are not it.
func Asked(history []*messagev1.Item, execution string) bool {
	text := Text(execution)
	for _, item := range history {
		if item.GetDeveloper().GetText() == text {
			return true
		}
	}
	return false
}
