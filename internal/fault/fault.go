// Package fault is the one error type of Cadre. A Fault has three readers: a
// code and a reason for programs, a message for the caller, a cause for the
// log. It promises that the message never holds the cause's text, so that
// nothing internal reaches a caller by accident. It knows no transport: only
// package server maps codes to a wire.
package fault

import (
	"errors"
	"fmt"
	"maps"
)

// Code is the coarse class of an error. The values are the names that Connect
// and gRPC use, in lower snake case.
type Code string

// The codes, with the meaning that gRPC gives them.
const (
	Canceled           Code = "canceled"
	InvalidArgument    Code = "invalid_argument"
	DeadlineExceeded   Code = "deadline_exceeded"
	NotFound           Code = "not_found"
	AlreadyExists      Code = "already_exists"
	PermissionDenied   Code = "permission_denied"
	ResourceExhausted  Code = "resource_exhausted"
	FailedPrecondition Code = "failed_precondition"
	Aborted            Code = "aborted"
	OutOfRange         Code = "out_of_range"
	Unimplemented      Code = "unimplemented"
	Internal           Code = "internal"
	Unavailable        Code = "unavailable"
	Unauthenticated    Code = "unauthenticated"
)

// Violation is one broken rule of a message.
type Violation struct {
	Field string // path in proto names: `spec.instructions`, `spec.tools[2]`
	Rule  string // id of the rule: `string.min_len`
	Text  string // what the rule wants, for people
}

// Fault is an error of Cadre. Make one with New and do not change it after it
// was returned; the With methods answer copies, so a package-level Fault may be
// shared between goroutines.
type Fault struct {
	Code       Code
	Reason     string // UPPER_SNAKE, stable, for programs
	Message    string // for the caller, stable
	Meta       map[string]string
	Violations []Violation
	Retryable  bool // the same call may succeed later, unchanged

	cause error
}

// New makes a Fault. The message is formatted with args; do not put another
// error's text into it, give that to Because.
func New(code Code, reason, format string, args ...any) *Fault {
	return &Fault{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Because answers a copy with the cause that the log shows.
func (f *Fault) Because(cause error) *Fault {
	c := *f
	c.cause = cause
	return &c
}

// Saying answers a copy with another message, formatted with args: the same
// error, told about one file or one name.
func (f *Fault) Saying(format string, args ...any) *Fault {
	c := *f
	c.Message = fmt.Sprintf(format, args...)
	return &c
}

// With answers a copy with one more fact for programs.
func (f *Fault) With(key, value string) *Fault {
	c := *f
	c.Meta = maps.Clone(f.Meta)
	if c.Meta == nil {
		c.Meta = map[string]string{}
	}
	c.Meta[key] = value
	return &c
}

// Retry answers a copy that says that the same call may succeed later.
func (f *Fault) Retry() *Fault {
	c := *f
	c.Retryable = true
	return &c
}

// Error is the caller's message, followed by the cause: it is for logs and
// tests. Use Message to answer a caller.
func (f *Fault) Error() string {
	if f.cause == nil {
		return f.Message
	}
	return f.Message + ": " + f.cause.Error()
}

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.cause }

// Is matches by code and reason, so that errors.Is(err, ErrX) works for copies
// that carry other messages.
func (f *Fault) Is(target error) bool {
	var t *Fault
	if !errors.As(target, &t) {
		return false
	}
	return f.Code == t.Code && f.Reason == t.Reason
}

// From finds the Fault in err. Any other error becomes Internal with a static
// message, the error as its cause. From(nil) is nil.
func From(err error) *Fault {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return New(Internal, "INTERNAL", "internal error").Because(err)
}

// CodeOf is From(err).Code, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return From(err).Code
}

// ReasonOf is From(err).Reason, and "" for nil.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	return From(err).Reason
}
