package chat

import (
	"slices"
	"strings"
	"time"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// talk is what is known of a conversation. It changes by fold alone, and by say,
// which puts a word of the interface itself between the turns.
type talk struct {
	session string
	agent   string
	folder  string
	model   string // of the newest turn
	seq     int64  // the newest event that is in here
	blocks  []*block
	turns   map[string]*turn
}

// block is a turn, or words of the interface.
type block struct {
	turn  *turn // nil for words
	words *entry
}

// phase is how far a turn is.
type phase string

const (
	queued     phase = "queued"
	running    phase = "running"
	waiting    phase = "waiting"
	cancelling phase = "cancelling"
	completed  phase = "completed"
	failed     phase = "failed"
	cancelled  phase = "cancelled"
	removed    phase = "removed" // cancelled before it began
)

// turn is one message and what came of it.
type turn struct {
	id         string
	said       *entry
	entries    []*entry
	answers    map[int32]*entry
	tools      map[string]*entry
	phase      phase
	waitingFor string
	started    time.Time
	thinking   bool
	generation int64
	spent      *messagev1.Usage
	settled    bool // spent is what the turn's end said
}

// open says whether a turn is not over.
func (t *turn) open() bool { return t.active() || t.phase == queued }

// active says whether a turn has begun and is not over.
func (t *turn) active() bool {
	return t.phase == running || t.phase == waiting || t.phase == cancelling
}

// kind is what an entry of the transcript shows.
type kind int

const (
	saidEntry kind = iota
	answerEntry
	toolEntry
	noteEntry
	troubleEntry // a note about what went wrong
)

// entry is one piece of the transcript. rev grows with each change, so that what
// was drawn can be kept.
type entry struct {
	kind kind
	rev  int
	text string // of said and notes; may hold anything
	// files are the names of what came with a message.
	files string
	answer
	tool call
}

// call is one tool call.
type call struct {
	id, name, arguments string
	state               string // requested, started, completed, failed, unknown
	started             time.Time
	note                string
	result              string
	duration            time.Duration
	progress            string // the end of what a running one prints
}

func newTalk() *talk { return &talk{turns: map[string]*turn{}} }

// say puts words of the interface behind what there is.
func (t *talk) say(text string) { t.words(noteEntry, text) }

// trouble puts words about what went wrong behind what there is.
func (t *talk) trouble(text string) { t.words(troubleEntry, text) }

func (t *talk) words(k kind, text string) {
	t.blocks = append(t.blocks, &block{words: &entry{kind: k, text: text}})
}

// turn is the turn of an execution, made when it is not known yet.
func (t *talk) turn(execution string) *turn {
	if x := t.turns[execution]; x != nil {
		return x
	}
	x := &turn{
		id: execution, said: &entry{kind: saidEntry}, phase: queued, spent: &messagev1.Usage{},
		answers: map[int32]*entry{}, tools: map[string]*entry{},
	}
	t.turns[execution] = x
	t.blocks = append(t.blocks, &block{turn: x})
	return x
}

// all are the turns in the order in which they were asked for.
func (t *talk) all() []*turn {
	var all []*turn
	for _, b := range t.blocks {
		if b.turn != nil {
			all = append(all, b.turn)
		}
	}
	return all
}

// now is the turn that is at work or waits; nil when there is none.
func (t *talk) now() *turn {
	for _, x := range slices.Backward(t.all()) {
		if x.active() {
			return x
		}
	}
	return nil
}

// line are the turns that nobody works on yet, the next one first.
func (t *talk) line() []*turn {
	return slices.DeleteFunc(t.all(), func(x *turn) bool { return x.phase != queued })
}

// stopped is the turn that recover lets go on: one that waits, or the last one when
// it failed. It is nil when there is none.
func (t *talk) stopped() *turn {
	last := true
	for _, x := range slices.Backward(t.all()) {
		if x.phase == waiting || x.phase == failed && last {
			return x
		}
		last = last && x.phase == removed
	}
	return nil
}

// history is what was said, the oldest first, each once in a row.
func (t *talk) history() []string {
	var said []string
	for _, x := range t.all() {
		if s := x.said.text; strings.TrimSpace(s) != "" {
			said = append(said, s)
		}
	}
	return slices.Compact(said)
}

// spent adds up what the turns used.
func (t *talk) spent() *messagev1.Usage {
	sum := &messagev1.Usage{}
	for _, x := range t.all() {
		addUsage(sum, x.spent)
	}
	return sum
}

func addUsage(sum, u *messagev1.Usage) {
	sum.InputTokens += u.GetInputTokens()
	sum.OutputTokens += u.GetOutputTokens()
	sum.CachedInputTokens += u.GetCachedInputTokens()
	sum.ReasoningTokens += u.GetReasoningTokens()
	sum.CacheWriteInputTokens += u.GetCacheWriteInputTokens()
	sum.CostNanoUsd += u.GetCostNanoUsd()
	sum.UnpricedCalls += u.GetUnpricedCalls()
	sum.Estimated = sum.Estimated || u.GetEstimated()
}
