package workspace

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

// RootChanged: what was opened as one folder is another one now, so that paths which were
// told before may mean other files.
type RootChanged struct{ Was, Is string }

// Error names both.
func (e *RootChanged) Error() string {
	return fmt.Sprintf("the workspace was the folder %s and is %s now", e.Was, e.Is)
}

// NotVisible: a file that was written is not what is found there. Its fields are all that
// is known, and nothing else of the other side.
type NotVisible struct {
	Reason  string // absent or different
	Path    string // relative to Workdir
	Workdir string
	Exit    int // of the look: 0 when it found something, 1 when nothing
}

// Error tells them.
func (e *NotVisible) Error() string {
	return fmt.Sprintf("a file that was written is %s: %s in %s (exit code %d)", e.Reason, e.Path, e.Workdir, e.Exit)
}
