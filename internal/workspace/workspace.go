// Package workspace is the seam to the folder in which an agent works. Paths
// are relative to the folder, with forward slashes; an absolute path that lies
// inside it is taken as well; a path that leaves it, also through a link, is
// refused with ErrOutside. Links that stay inside are followed. Commands, where a
// workspace can run them, are bound to the folder only by their working directory:
// what they may reach is the business of what the workspace lies in. What the methods refuse is a fault of this package whose
// message names the path; a context that ended gives its cause.
//
// Delivery: Replace is atomic (the old or the new content, never a mixture) and
// durable when it returns. All methods are safe for concurrent use; two Replace
// calls for one path are put in an order, and each checks its own condition.
package workspace

import (
	"context"
	"io/fs"
	"iter"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Absent is the digest of a file that does not exist.
const Absent = "absent"

// Info describes one entry.
type Info struct {
	Path  string // relative, `.` for the folder itself
	Size  int64
	Mode  fs.FileMode
	IsDir bool
	Link  string // target of a symbolic link, which is never followed out of the folder
}

// Replacement is one write of a whole file.
type Replacement struct {
	Path   string
	Data   []byte
	Before string // the digest that the file must have now, or Absent. "" does not check
	Remove bool   // the file is removed instead, and Data is not looked at; its folder stays
	Token  string // names the temporary file, so that a crashed write's remains are found: the tool call's id
}

// Workspace is one folder.
type Workspace interface {
	// Name is the folder's path, for people and for Rel.
	Name() string
	// Read gives a file's content, at most limit bytes; a larger file is ErrTooLarge
	// with its size in the metadata `size`. ErrIsFolder for a folder, ErrNotFile for
	// a pipe, a socket or a device, which is never opened.
	Read(ctx context.Context, path string, limit int64) ([]byte, error)
	// Stat describes an entry without following a final link. ErrNotFound when absent.
	Stat(ctx context.Context, path string) (Info, error)
	// List gives all of a folder's entries in name order, without Cadre's own
	// temporary files.
	List(ctx context.Context, path string) ([]Info, error)
	// Walk gives all entries below path, a folder before its entries and those in
	// name order, without following links, leaving out what the folder's .gitignore
	// files exclude, `.git` and Cadre's own temporary files. A path that is itself
	// excluded is walked all the same. It ends after the first error.
	Walk(ctx context.Context, path string) iter.Seq2[Info, error]
	// Digest is the SHA-256 of a file's content in lower-case hexadecimal, or Absent.
	Digest(ctx context.Context, path string) (string, error)
	// Replace writes a file whole by a temporary file and a rename, creating its
	// folders, keeping the permissions of the file it replaces. A link is written
	// through. ErrChanged when Before does not match. With Remove the entry named is
	// taken away, durably: a link itself, not what it leads to, which must lie inside and be
	// no folder. One that is not there is removed already when Before allows that.
	Replace(ctx context.Context, r Replacement) error
	// Tidy removes the temporary file that an interrupted Replace with this token
	// may have left beside path. Nothing to remove is no error.
	Tidy(ctx context.Context, path, token string) error
	// Start runs a command. ErrNoCommands where none can be run, ErrTooMany when the
	// session has too many that run.
	Start(ctx context.Context, c Command) (Process, error)
	// Process finds a background command that the session started, also one that ended,
	// until it is forgotten for newer ones or because the server was started anew.
	// ErrNoProcess.
	Process(session, id string) (Process, error)
	// Close releases the folder. Processes go on.
	Close() error
}

// Errors of the seam, matched by code and reason.
var (
	ErrOutside   = fault.New(fault.PermissionDenied, "PATH_OUTSIDE_WORKSPACE", "the path leaves the workspace")
	ErrNotFound  = fault.New(fault.NotFound, "FILE_NOT_FOUND", "no such file")
	ErrIsFolder  = fault.New(fault.InvalidArgument, "PATH_IS_FOLDER", "the path is a folder")
	ErrNotFolder = fault.New(fault.InvalidArgument, "PATH_IS_NO_FOLDER", "the path is not a folder")
	ErrTooLarge  = fault.New(fault.InvalidArgument, "FILE_TOO_LARGE", "the file is too large")
	ErrChanged   = fault.New(fault.Aborted, "FILE_CHANGED", "the file changed since it was read")
	ErrNotFile   = fault.New(fault.InvalidArgument, "PATH_IS_NO_FILE", "the path is neither a file nor a folder")
	ErrBadPath   = fault.New(fault.InvalidArgument, "PATH_INVALID", "the path is not valid")
	ErrDenied    = fault.New(fault.PermissionDenied, "FILE_ACCESS_DENIED", "the system does not allow it")
	ErrFull      = fault.New(fault.ResourceExhausted, "WORKSPACE_FULL", "no space is left")
	ErrFailed    = fault.New(fault.Unavailable, "WORKSPACE_FAILED", "the workspace cannot be used now")
)
