// Package chat is the terminal interface of one conversation: the transcript
// above, a box to write in below, and one line that says how things stand.
//
// It promises that nothing of a session's log is shown twice or left out, that
// text appears as it comes, that what the model, a tool or the log says cannot
// rewrite the screen, that a connection that breaks is made again, and that a
// message is given to the server once however often it has to be told. Leaving
// cancels no work.
//
// It does not promise to keep what was typed and not sent: that ends with the
// program. It knows the server only through Server, and makes no connection.
//
// The state of a conversation is a fold of events (fold.go), the screen a
// function of state and size (view.go), and what is asked of the server a
// command of Bubble Tea (effects.go).
package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	messagev1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/message/v1"
)

// Options say what is talked about and how it is shown.
type Options struct {
	Server Server
	// Agent is whom the first message goes to; "" when Session is given.
	Agent string
	// Folder is what the agent works in; "" for none. A session that exists has its own.
	Folder string
	// Session is one that exists; "" makes one with the first message.
	Session string
	// Model is used instead of the agent's; "" for the agent's own.
	Model string
	// Plain leaves colours and other attributes out.
	Plain bool
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// NewKey makes the key under which a message is given once. Required.
	NewKey func() string
	// Cost says in words what requests cost. Required.
	Cost func(*messagev1.Usage) string
	// Subject is the argument that tells what a call is about. Required.
	Subject func(arguments string) string
}

// Result says how a conversation was left.
type Result struct {
	// Session is the one shown last; "" when none was made.
	Session string
	// Unsent are messages that no server is known to have accepted.
	Unsent int
}

// Run shows the conversation on a terminal until the person leaves or ctx ends.
// environ is the environment that describes the terminal. The terminal is as it
// was before when Run returns, also after a panic.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer, environ []string, more ...tea.ProgramOption) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	m := newModel(ctx, o)
	defer func() {
		cancel()
		m.stopFeed()
	}()
	options := append([]tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ),
	}, more...)
	_, err := tea.NewProgram(m, options...).Run()
	left := Result{Session: cmp.Or(m.talk.session, m.left), Unsent: len(m.outbox)}
	switch {
	case m.broken != "":
		return left, fmt.Errorf("the interface broke down, and the work goes on without it: %s", m.broken)
	case err == nil, errors.Is(err, tea.ErrInterrupted):
		return left, nil
	case errors.Is(err, tea.ErrProgramPanic):
		return left, fmt.Errorf("the interface broke down, and the work goes on without it: %w", err)
	case ctx.Err() != nil:
		return left, context.Cause(ctx)
	}
	return left, fmt.Errorf("the terminal: %w", err)
}
