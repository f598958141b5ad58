package temporal

import (
	"time"

	"github.com/cadre-dev/cadre/internal/engine"
)

// Names that engine histories hold. Histories outlive programs: a name is never
// changed and never given another meaning. A new shape of the session workflow
// gets a new name beside the old one.
const (
	namespace        = "cadre"
	taskQueue        = "cadre_control"
	sessionWorkflow  = "cadre.session.v1"
	peekActivity     = "cadre.session.peek.v1"
	attemptActivity  = "cadre.session.attempt.v1"
	interruptAct     = "cadre.session.interrupt.v1"
	wakeSignal       = "wake"
	workflowIDPrefix = "session/"

	// Types of the failures that histories hold. Their messages are constant: the
	// engine keeps no content.
	failureUnsettled = "cadre.unsettled"
	failureAbandoned = "cadre.abandoned"
	failureHandler   = "cadre.handler"
)

// sessionState is the input of a run of the session workflow.
type sessionState struct {
	Session string `json:"s"`
	Seen    int64  `json:"r,omitempty"` // the newest wake revision of earlier runs
}

// decision is engine.Decision as histories hold it.
type decision struct {
	Verb      engine.Verb `json:"v"`
	Execution string      `json:"e,omitempty"`
	Attempt   string      `json:"a,omitempty"`
	Until     time.Time   `json:"u,omitzero"`
	Revision  int64       `json:"r,omitempty"`
}

// attemptInput is the input of an attempt's activity.
type attemptInput struct {
	Session   string `json:"s"`
	Execution string `json:"e"`
	Attempt   string `json:"a"`
}

func workflowID(session string) string { return workflowIDPrefix + session }
