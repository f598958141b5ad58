package failure

import "fmt"

// The errors below are made where something happens, and only there: the type is the
// proof. Nothing that a remote side says becomes one of them.

// StartUnknown: a command was sent to a sandbox and nothing came back that says whether
// it started.
type StartUnknown struct{ Err error }

// Error tells what is not known.
func (e *StartUnknown) Error() string {
	return fmt.Sprintf("it is not known whether the command started: %v", e.Err)
}

// Unwrap gives the cause.
func (e *StartUnknown) Unwrap() error { return e.Err }

// StartUnavailable: a command did not start, and nothing of it was ever sent.
type StartUnavailable struct{ Err error }

// Error tells what did not happen.
func (e *StartUnavailable) Error() string { return fmt.Sprintf("the command was not sent: %v", e.Err) }

// Unwrap gives the cause.
func (e *StartUnavailable) Unwrap() error { return e.Err }

// RouteUnknown: a session was to be routed to another sandbox and it is not known whether
// it is.
type RouteUnknown struct{ Err error }

// Error tells what is not known.
func (e *RouteUnknown) Error() string {
	return fmt.Sprintf("it is not known whether the sandbox was changed: %v", e.Err)
}

// Unwrap gives the cause.
func (e *RouteUnknown) Unwrap() error { return e.Err }

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
