package store

import (
	"time"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// Compaction replaces the history that a session's model is shown. What it replaces stays in
// the store; nobody is shown it again.
type Compaction struct {
	Number  int32             // the dispatch that gave the summary; it is settled with it
	Usage   *messagev1.Usage  // of that dispatch
	History []*messagev1.Item // all of the new history, oldest first; not empty
	Events  []*eventv1.Event
	Now     time.Time
}

// Shown is what the ledger knows of a history beside its items.
type Shown struct {
	// Kept counts the first items of the history: those that its newest compaction wrote. 0
	// when there was none.
	Kept int
	// Tokens is what the newest answer and all before it took, by what the provider told; 0
	// when no answer came since the newest compaction. Counted is how many items those are.
	Tokens  int64
	Counted int
	// Taken are the ids of the session's calls that the history may not tell any more; nil
	// when nothing was compacted.
	Taken []string
}
