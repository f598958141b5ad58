package chat

import (
	"context"

	eventv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/event/v1"
	sessionv1 "github.com/cadre-dev/cadre/gen/go/cadre/agentic/session/v1"
)

// Server is what a conversation asks for. Its methods are called from several
// goroutines at once and end with their context.
type Server interface {
	// Run makes a session of an agent in a folder ("" for none), gives it its first
	// message and answers the session's id.
	Run(ctx context.Context, agent, folder string, m Message) (session string, err error)
	// Send gives a session another message. The same key gives it once.
	Send(ctx context.Context, session string, m Message) error
	// Check says what is wrong with a file that is to be attached, without a server.
	Check(path string) error
	// Upload keeps a file on the server and answers its artifact's id.
	Upload(ctx context.Context, path string) (id string, err error)
	// Cancel ends one turn. ended is false when it was over already.
	Cancel(ctx context.Context, execution string) (ended bool, err error)
	// Recover lets a waiting or failed turn go on.
	Recover(ctx context.Context, execution string) error
	// Events are the log's next ones after a number, and whether there are more.
	Events(ctx context.Context, session string, after int64) (events []*eventv1.Event, more bool, err error)
	// Subscribe follows the log after a number.
	Subscribe(ctx context.Context, session string, after int64) (Stream, error)
	// Lost says whether an error is about the connection, so that asking again may help.
	Lost(err error) bool
}

// Stream is a log that is followed.
type Stream interface {
	// Next waits for a frame; the error is io.EOF when the server ended the stream.
	Next() (*sessionv1.Frame, error)
	Close() error
}

// Message is what a person says.
type Message struct {
	Text  string
	Model string // "" for the one used so far
	// Attachments are artifacts' ids.
	Attachments []string
	// Key makes a repeated call harmless.
	Key string
}
