package scripted

import (
	"regexp"
	"time"

	"github.com/cadre-dev/cadre/internal/model"
)

// script is one parsed file. It is never changed after it was parsed.
type script struct {
	path   string
	sum    string // SHA-256 of the file
	turns  []turn
	repeat bool  // the turns begin again after the last one
	window int64 // tokens that a request may have; 0 is no bound
	// compaction answers requests for a shorter history; nil gives a summary of its own.
	compaction *compaction
}

// compaction is how the model makes a history shorter.
type compaction struct {
	step                // its text, delay, usage, hang and error
	remote      *remote // the provider's own form; nil gives words
	recoverable bool    // what the provider's own test says of an error
}

// remote is what requests declare that want the provider's own form.
type remote struct{ feature, implementation string }

// turn answers one user message.
type turn struct {
	when  *regexp.Regexp // nil fits every message
	steps []step
}

// step is one answer of the model.
type step struct {
	reasoning  string
	text       string
	tools      []toolCall
	delay      time.Duration // before the first part
	chunk      int           // characters per part of the text; 0 gives it whole
	chunkDelay time.Duration // between parts of the text
	usage      *usage        // nil estimates
	finish     string        // "" follows from tools
	hang       bool          // never ends by itself
	fail       *failure
	expect     *expectation
}

// toolCall is one call of a step.
type toolCall struct {
	id   string // "" gets one from the position
	name string
	args string // JSON, or what the script gives verbatim
}

type usage struct {
	none                             bool // the provider tells none
	input, output, cached, reasoning int64
}

// failure ends a step with an error.
type failure struct {
	err         model.Error
	afterChunks int // parts of the text that come before it
	times       int // requests of this step that fail; 0 is all
}

// expectation is checked before a step plays. Nil pointers and empty values do
// not check.
type expectation struct {
	lastTool        *string
	lastToolIsError *bool
	instructions    *string
	offers          []string
}
