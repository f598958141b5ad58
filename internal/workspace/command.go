package workspace

import (
	"context"
	"time"

	"github.com/cadre-dev/cadre/internal/fault"
)

// Command is one line for the shell of the machine that the workspace lies on.
// Its working directory is the workspace's folder.
type Command struct {
	ID        string // names the process within its session
	Session   string // whose process it is: it ends with its session at the latest
	Execution string // the turn that started it: a cancel of that turn ends it
	Line      string
	// Background commands can be found by Process, for a while also after their end.
	// Others are forgotten with it.
	Background bool
}

// Process is a command with everything that it started: one tree, which ends as
// a whole. It goes on when the Workspace that started it is closed. All methods
// are safe for concurrent use.
type Process interface {
	Command() Command
	Started() time.Time
	// Output answers what was printed on both streams, in the order of arrival, from
	// byte from on. Of a very long output the middle is not kept: see Output.Lost.
	Output(from int64) Output
	// Unread is Output from where the reader before this one ended. The same reader,
	// asking again, gets what it got and what came since.
	Unread(reader string) Output
	// Done is closed when the command has ended and nothing of its tree is alive.
	Done() <-chan struct{}
	// Exit says how it ended. Valid after Done.
	Exit() Exit
	// End asks the whole tree to end, kills after grace what has not, and returns
	// when nothing of it is alive. An error names what still is when ctx ends.
	End(ctx context.Context, grace time.Duration) error
}

// Output is a part of what a process printed.
type Output struct {
	Text []byte // the caller may keep it
	Gap  int    // where in Text bytes are missing that were not kept
	Lost int64  // how many are missing there; 0 when none are
	Next int64  // the offset after Text
}

// Exit says how a process ended.
type Exit struct {
	Code   int    // 128 and more for a signal
	Signal string // `SIGKILL`; "" when it ended by itself
	Ended  bool   // by End
}

// Errors about commands, matched by code and reason.
var (
	ErrNoCommands = fault.New(fault.FailedPrecondition, "WORKSPACE_WITHOUT_COMMANDS", "commands cannot be run in this workspace")
	ErrTooMany    = fault.New(fault.ResourceExhausted, "TOO_MANY_PROCESSES", "too many processes run in this session")
	ErrNoProcess  = fault.New(fault.NotFound, "PROCESS_NOT_FOUND", "no such process")
)
