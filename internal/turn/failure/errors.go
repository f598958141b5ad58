package failure

import (
	"fmt"

	"github.com/cadre-dev/cadre/internal/workspace"
)

// The errors below are made where something happens, and only there: the type is the
// proof. Nothing that a remote side says becomes one of them.

// What a workspace in a sandbox proves of a command's start, and of itself.
type (
	StartUnknown     = workspace.StartUnknown
	StartUnavailable = workspace.StartUnavailable
	RouteUnknown     = workspace.RouteUnknown
	RootChanged      = workspace.RootChanged
	NotVisible       = workspace.NotVisible
)

// MCPTimeout: an MCP server did not answer in time.
type MCPTimeout struct {
	Server string // its name
	Err    error
}

// Error names the server.
func (e *MCPTimeout) Error() string {
	return fmt.Sprintf("the MCP server %s did not answer in time: %v", e.Server, e.Err)
}

// Unwrap gives the cause.
func (e *MCPTimeout) Unwrap() error { return e.Err }

// MCPUnavailable: an MCP server cannot be reached.
type MCPUnavailable struct {
	Server string // its name
	Err    error
}

// Error names the server.
func (e *MCPUnavailable) Error() string {
	return fmt.Sprintf("the MCP server %s cannot be reached: %v", e.Server, e.Err)
}

// Unwrap gives the cause.
func (e *MCPUnavailable) Unwrap() error { return e.Err }

// PolicyChanged: what the turn's frozen policy names is defined otherwise here.
type PolicyChanged struct{ Model string }

// Error names the model.
func (e *PolicyChanged) Error() string {
	return e.Model + " changed while the turn was under way"
}

// Endless: the other side sends without end. The same request does that again.
type Endless struct{ Err error }

// Error is the cause's.
func (e *Endless) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Endless) Unwrap() error { return e.Err }

// Compacting: a request for a shorter history failed.
type Compacting struct {
	Err error
	// Passes is what the provider's own test says of Err; nil where it has none.
	Passes *bool
}

// Error tells what did not happen.
func (e *Compacting) Error() string { return fmt.Sprintf("the history was not shortened: %v", e.Err) }

// Unwrap gives the cause.
func (e *Compacting) Unwrap() error { return e.Err }

// NotCompacted: a shorter history was asked for and what came is none.
type NotCompacted struct{ Why string }

// Error tells why.
func (e *NotCompacted) Error() string { return "the history was not shortened: " + e.Why }

// HistoryLimit: the history is longer than what is sent at most.
type HistoryLimit struct{ Items, MostItems, Bytes, MostBytes int }

// Error tells both bounds.
func (e *HistoryLimit) Error() string {
	return fmt.Sprintf("the conversation has %d items and %d bytes, and at most %d items and %d bytes are sent", e.Items, e.Bytes, e.MostItems, e.MostBytes)
}

// EmptyContinuation: the history was shortened in the midst of a turn, and then the model
// answered nothing.
type EmptyContinuation struct{}

// Error tells it.
func (*EmptyContinuation) Error() string {
	return "the model answered nothing after its history was shortened"
}
