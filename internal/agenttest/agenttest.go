// Package agenttest is what `cadre test` reads and judges: a file that says what an
// agent is told, turn by turn, and what is expected of each turn.
//
// It promises to be pure: it reads nodes of YAML and events, and answers
// differences. It starts no server, and opens no file; the command line does that.
// The format is described in docs/reference/agent-tests.md.
package agenttest

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// Suffix is how the names of tests end.
const Suffix = ".test.yaml"

// Test is one file.
type Test struct {
	Name      string // for people; "" when the file gives none
	Agent     Agent
	Model     string // used instead of the agent's; "" for the agent's
	Effort    string
	Cassette  string // recording that the model's answers come from; "" for none
	Auto      bool   // unsafe calls are made
	Workspace *Workspace
	Turns     []Turn // at least one
}

// Agent is who is tested: one of both is set.
type Agent struct {
	File   string     // relative to the test's file
	Inline *yaml.Node // the fields of an agent's spec
	At     *yaml.Node // where the test names it
}

// Workspace is what the agent finds in its folder.
type Workspace struct {
	Copy  string            // a folder, relative to the test's file; "" for an empty one
	Files map[string]string // texts by their paths below the folder, written after the copy
}

// Turn is one message and what is expected of the answer.
type Turn struct {
	Say    string
	Attach []string // files that come with it, relative to the test's file
	Schema string   // JSON Schema that the answer keeps to; "" for free text
	Expect Expect
}

// Expect is what a turn must come to. What is not set is not looked at, but a turn
// must end as completed, and in full, unless something else is said.
type Expect struct {
	Phase        string
	SegmentLimit string
	Error        string // the code of the failure
	Answer       *Text
	Tools        []Call // all calls, in order; nil is not looked at, empty is none at all
	ToolsInclude []Call // these calls in this order, others may be between them
	Files        []File
	ModelCalls   int // at most so many; 0 is not looked at
}

// Text is what a text must be like. All that is set must hold.
type Text struct {
	Equals   *string
	Contains []string
	Matches  *regexp.Regexp
	JSON     any // a value that the text, read as JSON, must contain; nil is not looked at
}

// Call is what a tool call must be like.
type Call struct {
	Name      string
	Arguments any // contained in the call's arguments; nil is not looked at
	Result    *Text
	State     string // requested, completed, failed or outcome_unknown; "" is not looked at
}

// File is what a file of the workspace must be like when the turn has ended.
type File struct {
	Name   string
	Absent bool
	Text   Text
}

// Problem is what is wrong with a file, and where.
type Problem struct {
	Line, Column int // from 1
	Text         string
}

// Error says what is wrong.
func (p *Problem) Error() string { return p.Text }
