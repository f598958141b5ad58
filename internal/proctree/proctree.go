// Package proctree starts shell commands as whole process trees and ends them
// whole.
//
// It promises: a tree that is done has no living process, whatever its commands
// did (setsid, double forks, ignored signals, forks while they are killed); what
// a command leaves in the background ends with its shell; and after Open no
// process of an earlier server on the same folder is alive, also when that
// server was killed with SIGKILL. What cannot be ended is named in an error,
// never passed over.
//
// How much of that is proof depends on the Mode. Namespace: the kernel ends the
// tree with its first process, and that one with the server. Group: members are
// found by process group, session, parents and a marker in their environment; a
// process that leaves all four behind is not found. Forest.Reason says so. On
// Linux a forest in this mode makes the process the parent of all orphans below
// it, and takes leave of those that ended whenever a tree ends; children that
// somebody else started and waits for by os/exec are left to him.
//
// It does not promise: a terminal, standard input, limits of memory or time, or
// a wall against harm; a command may do all that the server's user may. It sends
// signals only to a process whose start time it has checked.
package proctree

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Mode is how trees are held together.
type Mode string

// The modes.
const (
	// Namespace gives each tree a PID namespace, which ends in a moment with
	// its first process, and with the server. Linux only.
	Namespace Mode = "pid_namespace"
	// Group is for everywhere else, and for where namespaces are not allowed.
	Group Mode = "process_group"
)

// Options say how a forest is opened.
type Options struct {
	// Dir keeps the records of running trees. It is made when missing. One
	// process at a time uses it: the caller holds the data folder's lock.
	Dir string
	// Boot identifies this process in records and in the environment of what
	// it starts.
	Boot string
	// Mode is the mode to use. Default: the best that works here, by a try.
	Mode Mode
	// Log gets warnings. Default: slog.Default().
	Log *slog.Logger
}

// Spec is one command.
type Spec struct {
	ID    string            // unique among running trees
	Owner map[string]string // small facts that the record keeps
	Line  string            // the shell command line
	Shell string            // default: /bin/bash where it exists, else /bin/sh
	Dir   string            // default: the server's working folder
	// Env is the whole environment; the marker variable is added, nothing of
	// the server's. A shell may set PWD, SHLVL and _ on its way.
	Env []string
	// Output gets both streams in the order of arrival, from one goroutine. It
	// must not block for long. nil drops them. Its errors are ignored, so that
	// a command never waits for a reader that gave up.
	Output io.Writer
}

// Exit is how the shell ended.
type Exit struct {
	// Code is the exit status; 128 and the signal's number when one ended it.
	Code int
	// Signal names the signal that ended the shell, such as SIGKILL; else "".
	// In a namespace the codes 130 and 141, and every code of a signal where
	// there is no bash, are read as the signal that they stand for.
	Signal string
	// Ended tells that End came before the shell's own end.
	Ended bool
}

// The errors, to be matched with errors.Is. Their text is for people: it says
// what happened and what to do.
var (
	// ErrAlive names the processes that did not end in time.
	ErrAlive = errors.New("processes did not end in time")
	// ErrClosed answers a Start after Close.
	ErrClosed = errors.New("the server is stopping and starts no more commands")
	// ErrDuplicate answers a Start with the id of a running tree.
	ErrDuplicate = errors.New("a process tree with this id is running")
	// ErrStart says why a command could not be started.
	ErrStart = errors.New("the command cannot be started")
	// ErrMode answers an Open that wants a mode which does not work here.
	ErrMode = errors.New("the mode does not work here")
	// ErrDir says what is wrong with the folder of records.
	ErrDir = errors.New("the folder of process records cannot be used")
)

// failure is one of the errors above, told about one case.
type failure struct {
	kind  error
	text  string
	cause error // may be nil
}

func fail(kind, cause error, format string, args ...any) error {
	return &failure{kind: kind, text: fmt.Sprintf(format, args...), cause: cause}
}

func (f *failure) Error() string {
	if f.cause == nil {
		return f.text
	}
	return f.text + ": " + f.cause.Error()
}

// Unwrap gives the kind and the cause.
func (f *failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}
