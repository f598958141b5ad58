// Package tool is the seam to what a model may do. A tool that fails answers a
// Result that the model can read; a Go error means that the tool itself could
// not work (its context ended, the workspace is gone) and ends the attempt.
//
// Delivery: the caller registers a call durably before it starts and records it
// before the model's next step. A Mutation tells the digests before and after
// its effect, so that after a crash the caller knows whether it happened.
package tool

import (
	"context"
	"encoding/json"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// Class says what a repeated call may do.
type Class string

// The classes.
const (
	ReadOnly   Class = "read_only"  // changes nothing; may run in parallel and again
	Idempotent Class = "idempotent" // a second run has the same effect as one
	Unsafe     Class = "unsafe"     // never run again by itself
)

// Spec describes a tool.
type Spec struct {
	Name        string
	Description string          // for the model
	Schema      json.RawMessage // JSON Schema of the arguments, an object without additional properties
	Class       Class
	NoFiles     bool // it never looks at Env.Workspace, which may be nil then
}

// Call is one wish of the model.
type Call struct {
	ID   string // stable over attempts
	Args json.RawMessage
}

// Result is what the model reads.
type Result struct {
	Text    string
	IsError bool   // the text says what went wrong and what to try
	Summary string // a few words for a person's screen: `12 lines`, `3 matches`; may be ""
	Files   []File // images that the model is shown beside the text; may be nil
}

// File is what a tool gives to the model beside text.
type File struct {
	Name      string // the file's own name, without folders
	MediaType string // one of ImageTypes
	Data      []byte
}

// ImageTypes are the media types of images that models are shown. Gemini's take no
// GIF and are told so in words.
var ImageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Env is what a tool works with.
type Env struct {
	Session   string              // whose call it is
	Execution string              // the turn that makes it
	Workspace workspace.Workspace // nil when the session has none
	Progress  func(text string)   // a person's view of long work; never nil
}

// Tool is one thing that a model may do. Safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Run does it. Arguments that do not fit the schema are a Result with IsError. A
	// call that the end of ctx interrupted gives the cause; a Result beside it that is
	// not empty says that its outcome is known all the same.
	Run(ctx context.Context, env Env, call Call) (Result, error)
}

// Classifier is a Tool whose calls differ in class. Spec's class is that of the
// worst of them.
type Classifier interface {
	Tool
	// ClassOf tells one call's class from its arguments alone.
	ClassOf(call Call) Class
}

// ClassOf is the class of one call of a tool.
func ClassOf(t Tool, call Call) Class {
	if c, ok := t.(Classifier); ok {
		return c.ClassOf(call)
	}
	return t.Spec().Class
}

// Mutation is one prepared change of one file.
type Mutation struct {
	Path   string
	Before string // digest, or workspace.Absent
	After  string // digest that the file will have
	Result Result // what the model is told once it is done
	Commit func(ctx context.Context) error
}

// FileTool is a Tool whose whole effect is the replacement of one file. The
// caller prefers Prepare and Commit to Run, and stores Path, Before, After and
// Result in between.
type FileTool interface {
	Tool
	// Prepare works out the change without making it. Arguments that cannot be met
	// (the text to replace is not there) are a Result with IsError and no Mutation.
	Prepare(ctx context.Context, env Env, call Call) (*Mutation, Result, error)
}

// FilesTool is a Tool whose whole effect is the replacement of several files, each
// on its own: a crash can leave some of them changed.
type FilesTool interface {
	Tool
	// PrepareAll works out all changes without making any. Files for which done answers
	// true have been changed by this very call before a crash: they are left out. Arguments that
	// cannot be met are a Result with IsError and no Mutation; the Result of the first
	// Mutation is that of the call.
	PrepareAll(ctx context.Context, env Env, call Call, done func(path string) bool) ([]*Mutation, Result, error)
}

// Registration adds a tool to the standard list.
type Registration struct {
	Name string
	// New makes the tool. What it needs from outside it asks env for, by the names of
	// environment variables; a value that makes no sense is an error for people.
	New func(env func(string) string) (Tool, error)
}

// Plain registers a tool that needs nothing from outside.
func Plain(name string, build func() Tool) Registration {
	return Registration{Name: name, New: func(func(string) string) (Tool, error) { return build(), nil }}
}
